//! Starting: options, the ready line, and configurations that refuse to start.

use std::net::{TcpListener, TcpStream};
use std::process::Output;

use aethon_tests::server::server_command;
use aethon_tests::stub::ok;
use aethon_tests::{Server, Stub, home, program, run, run_server};
use serde_json::json;

/// Starts it with these settings and flags, expects a refusal, and returns its words.
fn refused(settings: &[&str], flags: &[&str]) -> String {
    let home = home();
    let output = run(server_command(home.path(), settings).args(flags), None);
    assert_refusal(&output);
    words(&output)
}

fn assert_refusal(output: &Output) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(output.stdout, b"", "a refusal goes to stderr");
    let words = words(output);
    assert!(!words.trim().is_empty() && words.lines().count() <= 12, "one short paragraph: {words}");
    assert!(!words.contains("panicked"), "{words}");
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn assert_names(words: &str, all: &[&str]) {
    for word in all {
        assert!(words.contains(word), "{word:?} is not in {words:?}");
    }
}

#[test]
fn stdout_has_one_line_with_the_address() {
    let server = Server::start(&[]);
    assert_eq!(server.greeting, format!("aethon 0.3.0 listening on http://{}", server.address));
    assert!(server.address.ip().is_loopback() && server.address.port() != 0);
    assert_eq!(server.get("/health").json(), json!({"status": "ok"}));
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn demo_uses_the_offline_model_until_one_is_configured() {
    let demo = |configuration: &str, variable: Option<(&str, &str)>| {
        let home = home();
        std::fs::write(home.path().join("config.toml"), configuration).unwrap();
        let mut command = program("aethon-server", home.path());
        command.args(["--demo", "--set", "channels.webchat.port=0"]).envs(variable);
        let server = Server::start_command(home, command);
        let status = server.get("/api/status").json();
        let address = server.greeting.strip_prefix("aethon 0.3.0 listening on http://");
        assert!(address.is_some(), "programs read this line: {}", server.greeting);
        let is_said = server.stderr().contains("the offline model answers");
        assert_eq!(status["demo"], json!(is_said), "{}", server.stderr());
        (is_said, status["provider"].as_str().unwrap().to_owned())
    };
    let check = |configuration: &str, variable, expected: (bool, &str)| {
        let (is_demo, provider) = demo(configuration, variable);
        assert_eq!((is_demo, provider.as_str()), expected, "{configuration:?} {variable:?}");
    };
    check("", None, (true, "fake"));
    check("[model]\nmax_retries = 1\n", None, (true, "fake"));
    check("[model]\nprovider = \"echo\"\n", None, (false, "echo"));
    check("[model]\nprovider = \"openai\"\n", None, (false, "openai"));
    check("[model]\nhost = \"http://127.0.0.1:9/v1\"\n", None, (false, "openai"));
    check("", Some(("OPENAI_API_KEY", "sk-test")), (false, "openai"));
    check("", Some(("AETHON_MODEL__PROVIDER", "echo")), (false, "echo"));
}

#[test]
fn the_version_is_that_of_the_workspace() {
    for name in ["aethon-server", "aethon-cli"] {
        let output = run(program(name, home().path()).arg("--version"), None);
        assert_eq!(output.status.code(), Some(0));
        assert_names(&String::from_utf8_lossy(&output.stdout), &["0.3.0"]);
    }
}

#[test]
fn help_names_every_flag() {
    let output = run(program("aethon-server", home().path()).arg("--help"), None);
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let common = ["--home", "AETHON_HOME", "--config", "--set", "--log-level", "--log-format", "--version"];
    assert_names(&help, &common);
    assert_names(&help, &["--insecure-bind", "--check", "text", "json"]);
    let output = run(program("aethon-cli", home().path()).arg("--help"), None);
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_names(&help, &common);
    let commands = ["chat", "ask", "init", "doctor", "config", "secrets", "sessions", "completions"];
    assert_names(&help, &commands);
}

#[test]
fn too_small_an_address_space_is_refused_in_one_sentence() {
    for mebibytes in [192, 256, 512] {
        let home = home();
        let server = server_command(home.path(), &[]);
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg("-c").arg(format!("ulimit -v {}; exec \"$0\" \"$@\"", mebibytes << 10));
        shell.arg(server.get_program()).args(server.get_args());
        shell.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
        let output = run(&mut shell, None);
        assert_refusal(&output);
        let words = words(&output);
        assert_names(&words, &[&format!("{mebibytes} MiB"), "ulimit -v", "1024 MiB"]);
        assert_eq!(words.trim().lines().count(), 1, "{words}");
    }
}

#[test]
fn wrong_flags_are_refused() {
    for flags in [
        &["--no-such-flag"][..],
        &["--set"],
        &["surplus"],
        &["--log-format", "xml"],
        &["--log-level", "loud"],
    ] {
        refused(&[], flags);
    }
    assert_names(&refused(&[], &["--set", "no-equals-sign"]), &["no-equals-sign"]);
}

#[test]
fn check_prints_the_configuration_and_exits() {
    let home = home();
    let output = run(server_command(home.path(), &[]).arg("--check"), None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_names(&said, &["fake", "127.0.0.1"]);
    assert!(!said.contains("listening on"), "{said}");

    let unsafe_bind = ["channels.webchat.host=0.0.0.0"];
    let output = run(server_command(home.path(), &unsafe_bind).arg("--check"), None);
    assert_eq!(output.status.code(), Some(2), "--check refuses what a start would refuse");
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let beyond_loopback = [
        "\"0.0.0.0\"",
        "\"::\"",
        "\"192.168.77.77\"",
        "\"10.0.0.1\"",
        "\"0\"",
        "\"::ffff:0.0.0.0\"",
        "\"[::]\"",
    ];
    for host in beyond_loopback {
        let host_setting = format!("channels.webchat.host={host}");
        let words = refused(&[&host_setting], &[]);
        assert_names(&words, &["channels.webchat.host", host.trim_matches('"'), "dashboard.auth_token"]);
        // Of blanks only counts as empty.
        let words = refused(&[&host_setting, "dashboard.auth_token=\"  \""], &[]);
        assert_names(&words, &["dashboard.auth_token"]);
    }
    assert_names(&refused(&["channels.webchat.host=0.0.0.0"], &[]), &["--insecure-bind"]);
}

#[test]
fn a_host_that_cannot_be_bound_is_refused() {
    let words = refused(&["channels.webchat.host=nowhere.invalid"], &[]);
    assert_names(&words, &["channels.webchat.host", "nowhere.invalid"]);
    // An address for documentation, which no machine has.
    let words = refused(&["channels.webchat.host=203.0.113.7", "dashboard.auth_token=t0ken"], &[]);
    assert_names(&words, &["channels.webchat.host", "203.0.113.7"]);
}

#[test]
fn loopback_address_in_any_form_needs_no_token() {
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "127.8.9.10", "::1", "::ffff:127.0.0.1"] {
        let server = Server::start(&[&format!("channels.webchat.host=\"{host}\"")]);
        assert_eq!(server.get("/health").status, 200, "{host}: {}", server.greeting);
    }
}

#[test]
fn guessable_token_is_reported_at_start() {
    for host in ["channels.webchat.host=127.0.0.1", "channels.webchat.host=0.0.0.0"] {
        let server = Server::start(&[host, "dashboard.auth_token=t0ken", "webhook.secret=s3cret"]);
        assert_eq!(server.get("/api/status").status, 401);
        let said = server.stderr();
        let both =
            said.contains("dashboard.auth_token has only 5") && said.contains("webhook.secret has only 6");
        assert!(both, "{host}: {said}");
    }
}

#[test]
fn token_or_flag_permits_binding_beyond_loopback() {
    let server =
        Server::start(&["channels.webchat.host=0.0.0.0", "dashboard.auth_token=t0ken-of-sixteen-or-more"]);
    assert_eq!(server.get("/api/status").status, 401);

    let home = home();
    let mut command = server_command(home.path(), &["channels.webchat.host=0.0.0.0"]);
    command.arg("--insecure-bind");
    let server = Server::start_command(home, command);
    assert_eq!(server.get("/api/status").status, 200);
}

#[test]
fn docker_that_does_not_answer_is_refused() {
    let home = home();
    let nowhere = format!("unix://{}/docker.sock", home.path().display());
    let mut command = server_command(home.path(), &["security.sandbox=docker"]);
    let output = run(command.env("DOCKER_HOST", &nowhere), None);
    assert_refusal(&output);
    assert_names(&words(&output), &["security.sandbox", "docker", "none"]);

    // Something listens there, but it is no docker daemon.
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", impostor.local_addr().unwrap());
    std::thread::spawn(move || impostor.incoming().for_each(drop));
    // Another web server answers everything.
    let web = Stub::start(vec![ok("text/plain", "OK")]);
    for address in [address, format!("tcp://{}", web.address)] {
        let mut command = server_command(home.path(), &["security.sandbox=docker"]);
        let output = run(command.env("DOCKER_HOST", &address), None);
        assert_refusal(&output);
        assert_names(&words(&output), &["security.sandbox", "docker"]);
    }
}

#[test]
fn startup_reports_every_problem() {
    let home = home();
    let settings = ["channels.webchat.host=0.0.0.0", "security.sandbox=docker"];
    for check in [&[][..], &["--check"]] {
        let mut command = server_command(home.path(), &settings);
        let output = run(command.args(check).env("DOCKER_HOST", "unix:///nowhere/docker.sock"), None);
        assert_refusal(&output);
        assert_names(&words(&output), &["channels.webchat.host", "security.sandbox"]);
        assert_eq!(words(&output).matches("security.sandbox is").count(), 1, "{}", words(&output));
    }
    let sets = settings.iter().chain(&["model.provider=fake"]).flat_map(|setting| ["--set", setting]);
    let mut doctor = program("aethon-cli", home.path());
    doctor.args(sets).args(["doctor", "--json"]).env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let report: serde_json::Value = serde_json::from_slice(&run(&mut doctor, None).stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let of = |area: &str| -> String {
        let here = findings.iter().filter(|finding| finding["area"] == area);
        here.map(|finding| finding.to_string()).collect()
    };
    assert!(of("start").contains("channels.webchat.host") && !of("start").contains("security.sandbox is"));
    assert_eq!(of("sandbox").matches("security.sandbox is").count(), 1, "{}", of("sandbox"));
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let words = refused(&[&format!("channels.webchat.port={}", address.port())], &[]);
    assert_names(&words, &[&address.to_string(), "channels.webchat.port"]);
}

#[test]
fn a_second_server_on_the_same_home_is_refused() {
    let server = Server::start(&[]);
    let output = run_server(server.home().path(), &["--set", "channels.webchat.port=0"]);
    assert_refusal(&output);
    assert_names(&words(&output), &["another", &server.home().path().display().to_string()]);
    assert_eq!(server.get("/health").status, 200);
    // The system frees the lock when the process dies in any way.
    let home = server.kill();
    assert_eq!(Server::start_in(home, &[]).get("/health").status, 200);
}

#[test]
fn without_the_webchat_there_is_no_listener() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let port = format!("channels.webchat.port={}", free.port());
    let server = Server::start(&["channels.webchat.enabled=false", &port]);
    assert_eq!(server.greeting, "aethon 0.3.0 running without a listener");
    assert!(TcpStream::connect(free).is_err(), "the port stays free");
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn missing_model_key_does_not_prevent_the_start() {
    for (provider, variable) in [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")] {
        let server = Server::start(&[&format!("model.provider={provider}")]);
        let status = server.get("/api/status").json();
        assert_eq!(
            (&status["status"], &status["model_ready"]),
            (&json!("running"), &json!(false)),
            "{status}"
        );
        let mut chat = server.chat("default");
        let frames = chat.say("m1", "hello");
        let done = frames.last().unwrap();
        assert_eq!(done["stop_reason"], "error");
        let told = frames.iter().filter_map(|frame| frame["message"].as_str()).collect::<String>();
        assert!(told.contains("model.api_key") && told.contains(variable), "says what to set: {frames:?}");
    }
}

#[test]
fn the_log_format_is_text_or_json_and_goes_to_stderr() {
    let home = home();
    let mut command = server_command(home.path(), &[]);
    command.args(["--log-format", "json", "--log-level", "debug"]);
    let server = Server::start_command(home, command);
    assert_eq!(server.get("/health").status, 200);
    server.signal(rustix::process::Signal::TERM);
    let (_, stderr) = server.wait();
    assert!(!stderr.is_empty());
    for line in stderr.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(record.is_object());
    }
}

#[test]
fn runtime_failure_exits_1() {
    // Its one line cannot be written: that is no refusal of its options, but a failure.
    let home = home();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = server_command(home.path(), &[]);
    let output = command.stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_names(&words(&output), &["standard output"]);
}
