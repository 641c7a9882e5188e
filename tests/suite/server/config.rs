//! Configuration: layers, references, wrong values, unknown keys, defaults.

use std::path::Path;
use std::process::Output;

use aethon_tests::server::server_command;
use aethon_tests::{Request, Server, home, program, run, run_cli};
use serde_json::{Value, json};

/// The value at a dotted key of the dump.
fn at<'a>(dump: &'a Value, key: &str) -> &'a Value {
    key.split('.').fold(dump, |value, name| &value[name])
}

fn dump(server: &Server) -> Value {
    server.get("/api/config").json()
}

fn write(home: &Path, config: &str) {
    std::fs::write(home.join("config.toml"), config).unwrap();
}

/// Starts it on this `config.toml`, expects a refusal, and returns its words.
fn refused(config: &str) -> String {
    let home = home();
    write(home.path(), config);
    words(&run(&mut program("aethon-server", home.path()), None))
}

fn words(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(!words.contains("panicked"), "{words}");
    words
}

fn assert_names(words: &str, all: &[&str]) {
    for word in all {
        assert!(words.contains(word), "{word:?} is not in {words:?}");
    }
}

#[test]
fn later_configuration_layer_wins() {
    let home = home();
    let retries = |command: &mut std::process::Command| {
        let output = run(command.args(["config", "get", "model.max_retries"]), None);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let cli = || program("aethon-cli", home.path());
    assert_eq!(retries(&mut cli()), "4");
    write(home.path(), "[model]\nmax_retries = 5\n");
    assert_eq!(retries(&mut cli()), "5");
    assert_eq!(retries(cli().env("AETHON_MODEL__MAX_RETRIES", "6")), "6");
    let mut both = cli();
    both.env("AETHON_MODEL__MAX_RETRIES", "6").args(["--set", "model.max_retries=7"]);
    assert_eq!(retries(&mut both), "7");
    let mut twice = cli();
    twice.args(["--set", "model.max_retries=7", "--set", "model.max_retries=8"]);
    assert_eq!(retries(&mut twice), "8");
}

#[test]
fn the_server_reads_all_layers_too() {
    let home = home();
    write(home.path(), "[agent]\nmax_iterations = 11\nloop_limit = 12\nturn_timeout_seconds = 13\n");
    let mut command = server_command(home.path(), &["agent.turn_timeout_seconds=33"]);
    command.env("AETHON_AGENT__LOOP_LIMIT", "22").env("AETHON_AGENT__TURN_TIMEOUT_SECONDS", "23");
    let server = Server::start_command(home, command);
    let agent = &dump(&server)["agent"];
    assert_eq!(agent["max_iterations"], 11);
    assert_eq!(agent["loop_limit"], 22);
    assert_eq!(agent["turn_timeout_seconds"], 33);
    assert_eq!(agent["max_tool_output_chars"], 12000, "what nobody sets has its default");
}

#[test]
fn set_flag_takes_toml_and_bare_words() {
    let server = Server::start(&[
        "model.model_id=some-model/v1:x",
        "agent.max_iterations=7",
        "approval.enabled=true",
        "approval.requires_approval=[\"file_read\", \"x\"]",
        "model.extra={seed = 4, nested = {a = [1]}}",
        "session.max_context_share=0.5",
        "budget.pricing.\"a.b\".input=1.5",
    ]);
    let dump = dump(&server);
    let check = |key: &str, expected: Value| assert_eq!(at(&dump, key), &expected, "{key}");
    check("model.model_id", json!("some-model/v1:x"));
    check("agent.max_iterations", json!(7));
    check("approval.enabled", json!(true));
    check("approval.requires_approval", json!(["file_read", "x"]));
    check("model.extra", json!({"seed": 4, "nested": {"a": [1]}}));
    check("session.max_context_share", json!(0.5));
    assert_eq!(dump["budget"]["pricing"]["a.b"]["input"], 1.5);
}

#[test]
fn the_environment_sets_keys_of_every_type() {
    let home = home();
    let mut command = server_command(home.path(), &[]);
    command
        .env("AETHON_DASHBOARD__AUTH_TOKEN", "from-environment")
        .env("AETHON_APPROVAL__ENABLED", "true")
        .env("AETHON_SERVER__TRUSTED_PROXIES", "[\"10.0.0.1\"]")
        .env("AETHON_MODEL__MODEL_ID", "plain word");
    let server = Server::start_command(home, command);
    assert_eq!(server.get("/api/config").status, 401);
    let request = Request::get("/api/config").bearer("from-environment");
    let dump = server.send(&request).json();
    assert_eq!(at(&dump, "approval.enabled"), &json!(true));
    assert_eq!(at(&dump, "server.trusted_proxies"), &json!(["10.0.0.1"]));
    assert_eq!(at(&dump, "model.model_id"), &json!("plain word"));
}

#[test]
fn references_are_resolved_in_any_string() {
    let home = home();
    std::fs::create_dir(home.path().join("credentials")).unwrap();
    std::fs::write(home.path().join("credentials/dash"), "from-a-file\n").unwrap();
    write(
        home.path(),
        "[model]\nmodel_id = \"${FIRST}-${MISSING:-fallback}-${FIRST:-no}-${MISSING:-}-$$5\"\n\
         [dashboard]\nauth_token = \"${credential:dash}\"\n\
         [channels.webchat]\nallowed_hosts = [\"${FIRST}.example\"]\n",
    );
    let mut command = server_command(home.path(), &[]);
    command.env("FIRST", "one");
    let server = Server::start_command(home, command);
    let request = Request::get("/api/config").bearer("from-a-file");
    let answer = server.send(&request);
    assert_eq!(answer.status, 200, "the trailing newline is no part of the secret");
    assert_eq!(at(&answer.json(), "model.model_id"), &json!("one-fallback-one--$5"));
    assert_eq!(at(&answer.json(), "channels.webchat.allowed_hosts"), &json!(["one.example"]));
}

#[test]
fn a_reference_to_nothing_is_refused() {
    for reference in ["${NOT_THERE}", "${credential:not-there}", "${credential:../config.toml}"] {
        let words = refused(&format!("[model]\nmodel_id = \"a {reference}\"\n"));
        assert_names(&words, &["model.model_id", reference]);
    }
    assert_names(&refused("[model]\nmodel_id = \"a ${unclosed\"\n"), &["model.model_id", "${"]);
}

#[test]
fn a_secret_that_resolves_to_nothing_is_refused() {
    let check = |key: &str, reference: &str| {
        let home = home();
        std::fs::create_dir(home.path().join("credentials")).unwrap();
        std::fs::write(home.path().join("credentials/empty"), "\n").unwrap();
        std::fs::write(home.path().join("credentials/blank"), "  \n").unwrap();
        let (section, name) = key.rsplit_once('.').unwrap();
        write(home.path(), &format!("[{section}]\n{name} = \"{reference}\"\n"));
        let output = run(program("aethon-server", home.path()).env("EMPTY", ""), None);
        assert_names(&words(&output), &[key, reference]);
    };
    for key in ["dashboard.auth_token", "webhook.secret", "model.api_key"] {
        for reference in
            ["${EMPTY}", "${EMPTY:-}", "${NOT_THERE:-}", "${credential:empty}", "${credential:blank}"]
        {
            check(key, reference);
        }
    }
}

#[test]
fn invalid_value_is_refused_with_file_line_key_and_allowed_values() {
    let check = |config: &str, line: u32, all: &[&str]| {
        let words = refused(config);
        assert_names(&words, &["config.toml"]);
        assert_names(&words, all);
        assert!(words.contains(&format!(":{line}")) || words.contains(&format!("line {line}")), "{words}");
    };
    check(
        "[model]\n\nprovider = \"opnai\"\n",
        3,
        &["model.provider", "opnai", "openai", "anthropic", "ollama"],
    );
    check("[channels.webchat]\nport = \"many\"\n", 2, &["channels.webchat.port"]);
    check("[channels.webchat]\nport = 70000\n", 2, &["channels.webchat.port", "70000"]);
    check("[channels.webchat]\nport = -1\n", 2, &["channels.webchat.port", "-1"]);
    check("channels.webchat.enabled = \"yes\"\n", 1, &["channels.webchat.enabled", "yes", "true"]);
    check("[server]\n# a comment\nmax_body_bytes = 1.5\n", 3, &["server.max_body_bytes", "1.5"]);
    check("[storage]\nsynchronous = \"off\"\n", 2, &["storage.synchronous", "off", "normal", "full"]);
    check("[logging]\nlevel = \"loud\"\n", 2, &["logging.level", "loud", "info"]);
    check("[security]\nsandbox = \"chroot\"\n", 2, &["security.sandbox", "chroot", "none", "docker"]);
    check("[session]\nmax_context_share = 1.5\n", 2, &["session.max_context_share", "1.5"]);
    check("[model]\nfallbacks = 3\n", 2, &["model.fallbacks", "3"]);
    check("model = 1\n", 1, &["model", "1"]);
    check("[model]\nprovider = \"fake\n", 2, &[]);
    check("[model]\nmax_retries = 1\nmax_retries = 2\n", 3, &["duplicate"]);
}

#[test]
fn a_wrong_value_of_another_layer_names_that_layer() {
    let home = home();
    let output = run(&mut server_command(home.path(), &["agent.max_iterations=many"]), None);
    assert_names(&words(&output), &["--set", "agent.max_iterations", "many"]);
    let mut command = server_command(home.path(), &[]);
    let output = run(command.env("AETHON_AGENT__MAX_ITERATIONS", "many"), None);
    assert_names(&words(&output), &["AETHON_AGENT__MAX_ITERATIONS", "many"]);
}

#[test]
fn plain_http_to_another_machine_needs_consent() {
    let words = refused("[model]\nhost = \"http://models.example/v1\"\n");
    assert_names(&words, &["model.host", "models.example", "model.allow_http"]);
    assert_names(&refused("[model]\nhost = \"models.example\"\n"), &["model.host", "models.example"]);
    for host in
        ["http://127.0.0.1:9/v1", "http://localhost:9/v1/", "http://[::1]:9/v1", "https://models.example/v1"]
    {
        let server = Server::start(&["model.provider=openai", &format!("model.host=\"{host}\"")]);
        assert_eq!(server.get("/health").status, 200, "{host}");
    }
    Server::start(&["model.host=\"http://models.example/v1\"", "model.allow_http=true"]);
}

#[test]
fn an_unknown_key_warns_with_the_nearest_one_and_starts() {
    let home = home();
    write(home.path(), "[model]\nprovder = \"echo\"\n\n[sesion]\nkeep_recent = 9\n");
    let server = Server::start_in(home, &[]);
    assert_eq!(server.get("/health").status, 200);
    server.signal(rustix::process::Signal::TERM);
    let (status, stderr) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert_names(&stderr, &["model.provder", "model.provider", "sesion", "session"]);
    // An explicit empty value switches it off.
    let home = aethon_tests::home();
    write(home.path(), "[model]\nprovder = \"echo\"\n");
    for (name, lenient) in [("aethon-server", &["--check"][..]), ("aethon-cli", &["config", "check"])] {
        let output = run(program(name, home.path()).args(lenient), None);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        let output = run(program(name, home.path()).args(lenient).arg("--strict"), None);
        assert_names(&words(&output), &["--strict"]);
    }
    assert_eq!(
        run(program("aethon-server", aethon_tests::home().path()).args(["--check", "--strict"]), None)
            .status
            .code(),
        Some(0),
        "no warning, no failure"
    );
}

#[test]
fn unknown_security_key_is_refused_from_every_layer() {
    let home = home();
    let names = ["dashboard.auth_tokn", "dashboard.auth_token"];
    let text = "[dashboard]\nauth_tokn = \"s3cret-canary\"\n";
    write(home.path(), text);
    let refuses = |name: &str, arguments: &[&str]| {
        let words = words(&run(program(name, home.path()).args(arguments), None));
        assert_names(&words, &names);
        assert!(words.contains("config.toml:2") && !words.contains("canary"), "{words}");
    };
    refuses("aethon-server", &[]);
    refuses("aethon-server", &["--check"]);
    refuses("aethon-cli", &["config", "check"]);
    let doctor = run_cli(home.path(), &["doctor"], None);
    assert_eq!(doctor.status.code(), Some(1));
    assert_names(&String::from_utf8_lossy(&doctor.stdout), &names);

    std::fs::remove_file(home.path().join("config.toml")).unwrap();
    let set = ["--set", "dashboard.auth_tokn=s3cret-canary", "--check"];
    assert_names(&words(&run(program("aethon-server", home.path()).args(set), None)), &names);
    for variable in ["AETHON_DASHBOARD__AUTH_TOKN", "AETHON_DASHBOARD_AUTH_TOKEN"] {
        let mut command = program("aethon-server", home.path());
        let words = words(&run(command.arg("--check").env(variable, "s3cret-canary"), None));
        assert!(words.contains(variable) && !words.contains("canary"), "{words}");
    }
    for force in [&[][..], &["--force"]] {
        let set = ["config", "set", names[0], "s3cret-canary"];
        let mut command = program("aethon-cli", home.path());
        assert_names(&words(&run(command.args(set).args(force), None)), &names);
        assert!(!home.path().join("config.toml").exists());
    }
    let mut command = program("aethon-cli", home.path());
    let editor = home.path().join("editor.sh");
    std::fs::write(&editor, "printf '[dashboard]\nauth_tokn = \"x\"\n' > \"$1\"\n").unwrap();
    let edited =
        run(command.args(["config", "edit"]).env("EDITOR", format!("sh {}", editor.display())), None);
    assert_names(&words(&edited), &names);
    assert!(!home.path().join("config.toml").exists(), "what is refused is not written");

    let server = Server::start_in(home, &[]);
    let patch = Request::new("PATCH", "/api/config").header("Content-Type", "application/json");
    let answer = server.send(&patch.body(json!({names[0]: "x"}).to_string()));
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert!(!server.home().path().join("config.toml").exists());
    // One that got into the file meanwhile: the next reload keeps the current values.
    write(server.home().path(), text);
    server.signal(rustix::process::Signal::HUP);
    aethon_tests::eventually("the reload is refused", || {
        let log = server.stderr();
        (log.contains("stays in force") && log.contains(names[0])).then_some(())
    });
    assert_eq!(server.get("/api/status").status, 200);
}

#[test]
fn the_config_file_may_lie_elsewhere() {
    let home = home();
    let file = home.path().join("other.toml");
    std::fs::write(&file, "[agent]\nmax_iterations = 9\n").unwrap();
    let mut command = server_command(home.path(), &[]);
    command.arg("--config").arg(&file);
    let server = Server::start_command(home, command);
    assert_eq!(at(&dump(&server), "agent.max_iterations"), &json!(9));
    drop(server);

    let home = aethon_tests::home();
    let missing = home.path().join("missing.toml");
    let output = run(server_command(home.path(), &[]).arg("--config").arg(&missing), None);
    assert_names(&words(&output), &[&missing.display().to_string()]);
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let output = run_cli(home().path(), &["config", "show", "--json"], None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let dump: Value = serde_json::from_slice(&output.stdout).unwrap();
    // How long to wait for the next byte follows the model, unless it is set.
    let expected = json!({
        "model": {"provider": "openai", "api_key": "", "host": "", "api": "auto", "api_version": "2026-10-21",
            "timeout_seconds": null, "max_retries": 4, "fallbacks": [], "extra": {}, "small": ""},
        "channels": {
            "webchat": {"enabled": true, "host": "127.0.0.1", "port": 18790, "allowed_origins": [], "allowed_hosts": []},
            "telegram": {"enabled": false}, "discord": {"enabled": false}, "slack": {"enabled": false},
            "whatsapp": {"enabled": false}, "matrix": {"enabled": false}, "email": {"enabled": false}},
        "memory": {"enabled": true, "auto_recall": true, "recall_top_k": 4, "recall_max_chars": 1500},
        "session": {"max_context_share": 0.8, "keep_recent": 10, "oneshot_keep_days": 30},
        "agent": {"max_iterations": 40, "max_tool_output_chars": 12000, "turn_timeout_seconds": 600,
            "loop_limit": 3, "dynamic_specialists": false},
        "budget": {"daily_usd": 0, "warn_ratio": 0.8, "pricing": {}, "unpriced": "refuse"},
        "approval": {"enabled": false, "timeout_seconds": 120,
            "requires_approval": ["shell", "file_write", "manage_tools", "manage_specialists"]},
        "dashboard": {"enabled": true, "auth_token": ""},
        "webhook": {"enabled": true, "secret": ""},
        "security": {"mark_untrusted_content": true, "workspace_only": false, "sandbox": "none",
            "blocked_commands": ["rm -rf /", "sudo", "mkfs"], "sandbox_network": "none", "allowed_senders": {}, "guest_tools": []},
        "runtime_tools": {"enabled": false},
        "session_recorder": {"enabled": false, "idle_minutes": 30, "keep": 20, "max_age_days": 0},
        "scheduler": {"enabled": true, "default_channel": "webchat", "max_stranger_jobs": 20, "jobs": {}},
        "mcp": {"servers": {}},
        "telemetry": {"enabled": true, "keep_days": 30},
        "logging": {"level": "info", "keep_files": 7},
        "server": {"max_body_bytes": 1_048_576, "max_connections": 4096, "header_timeout_seconds": 10,
            "body_timeout_seconds": 30, "shutdown_grace": 8, "webhook_timeout_seconds": 600, "trusted_proxies": []},
        "storage": {"files": "folder", "synchronous": "normal"},
        "backup": {"schedule": "", "dir": "", "keep": 7, "recipient": "", "with_secrets": false},
    });
    assert_holds(&dump, &expected, "");
}

/// Whether everything expected is in the dump; a number counts by its value.
fn assert_holds(dump: &Value, expected: &Value, key: &str) {
    match expected {
        Value::Object(entries) if !entries.is_empty() => {
            for (name, expected) in entries {
                assert_holds(&dump[name], expected, &format!("{key}.{name}"));
            }
        }
        Value::Number(_) => assert_eq!(dump.as_f64(), expected.as_f64(), "{key}"),
        _ => assert_eq!(dump, expected, "{key}"),
    }
}

#[test]
fn the_schema_is_a_json_schema_of_the_file() {
    let server = Server::start(&[]);
    let schema = server.get("/api/config/schema").json();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"), "{schema}");
    assert!(schema["properties"]["model"].is_object() && schema["properties"]["channels"].is_object());
    let output = run_cli(home().path(), &["config", "schema"], None);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), schema);
}

#[test]
fn missing_feature_is_reported_by_every_configuration_view() {
    let home = home();
    let file = "[channels.telegram]\ntoken = \"123456:secret-of-the-bot\"\n\
                [security]\nrequire_approval = true\n";
    write(home.path(), file);
    let keys = ["security.require_approval"];
    let assert_told = |told: &str| {
        for key in keys {
            let line = told.lines().find(|line| line.contains(key)).unwrap_or_default();
            assert!(line.contains("not available in this version"), "{key}: {told}");
        }
        assert!(!told.contains("secret-of-the-bot"), "{told}");
    };
    let said = |output: &Output| {
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
    };
    let check = run(server_command(home.path(), &[]).arg("--check"), None);
    assert_eq!(check.status.code(), Some(0), "these are warnings");
    assert_told(&said(&check));
    let check = run_cli(home.path(), &["config", "check"], None);
    assert_eq!(check.status.code(), Some(0), "these are warnings");
    assert_told(&said(&check));
    assert_told(&said(&run_cli(home.path(), &["doctor"], None)));
    let server = Server::start_in(home, &[]);
    assert_told(&server.stderr());
}

#[test]
fn a_key_is_taken_out_of_the_file_and_its_default_counts_again() {
    let home = home();
    let text = "# mine\n[agent]\nmax_iterations = 7 # few\ntimeout = 30\n";
    write(home.path(), text);
    let unset = |key: &str| run_cli(home.path(), &["config", "unset", key], None);
    let read = || std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let output = unset("agent.max_iterations");
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(read(), "# mine\n[agent]\ntimeout = 30\n");
    let output = unset("agent.max_iterations");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("is not set"));
    let output = unset("agent");
    assert_eq!(output.status.code(), Some(2), "a key is dotted");
}

#[test]
fn the_file_is_changed_in_an_editor_and_never_lost() {
    let home = home();
    write(home.path(), "[agent]\nmax_iterations = 7\n");
    let read = || std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let edit = |script: &str| {
        let editor = home.path().join("editor.sh");
        std::fs::write(&editor, script).unwrap();
        let mut command = program("aethon-cli", home.path());
        command.args(["config", "edit"]).env("EDITOR", format!("sh {}", editor.display()));
        run(&mut command, None)
    };
    let output = edit("sed -i 's/= 7/= 9/' \"$1\"\n");
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(read(), "[agent]\nmax_iterations = 9\n");
    let output = edit("sed -i 's/= 9/= \"many\"/' \"$1\"\n");
    assert_eq!(output.status.code(), Some(2));
    assert_names(&words(&output), &["agent.max_iterations", "kept in"]);
    assert_eq!(read(), "[agent]\nmax_iterations = 9\n", "what is wrong changes nothing");
    // The next attempt includes the refused change.
    let output = edit("sed -i 's/\"many\"/11/' \"$1\"\n");
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(read(), "[agent]\nmax_iterations = 11\n");
    assert_eq!(edit("exit 3\n").status.code(), Some(1), "an editor that fails changes nothing");
    let mut command = program("aethon-cli", home.path());
    command.args(["config", "edit"]).env_remove("EDITOR").env_remove("VISUAL");
    let told = String::from_utf8_lossy(&run(&mut command, None).stderr).into_owned();
    assert_names(&told, &["set EDITOR"]);
}
