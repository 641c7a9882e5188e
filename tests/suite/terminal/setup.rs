//! `aethon-cli` as the operator's tool: `config`, `secrets`, `init`, `doctor`.

use std::path::Path;
use std::process::Output;

use aethon_tests::{Server, Terminal, home, program, run_cli, run_server};
use serde_json::{Value, json};

fn out(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn cli(home: &Path, arguments: &[&str]) -> Output {
    run_cli(home, arguments, None)
}

fn config(home: &Path) -> String {
    std::fs::read_to_string(home.join("config.toml")).unwrap_or_default()
}

#[test]
fn config_path_and_get() {
    let home = home();
    let path = out(&cli(home.path(), &["config", "path"]));
    assert_eq!(Path::new(path.trim()), home.path().join("config.toml"));
    let get = |key: &str| out(&cli(home.path(), &["config", "get", key])).trim().to_owned();
    assert_eq!(get("model.provider"), "openai");
    assert_eq!(get("channels.webchat.port"), "18790");
    assert_eq!(get("webhook.enabled"), "true");
    assert_eq!(serde_json::from_str::<Value>(&get("approval.requires_approval")).unwrap()[0], "shell");
    let unknown = cli(home.path(), &["config", "get", "model.provder"]);
    assert!(unknown.status.code().is_some_and(|code| code != 0) && words(&unknown).contains("model.provder"));
}

#[test]
fn config_set_keeps_other_keys() {
    let home = home();
    let before = "# my settings\n[model]   # the model\nprovider = \"fake\" # offline\n\n[agent]\n# patience\nmax_iterations = 7\n";
    std::fs::write(home.path().join("config.toml"), before).unwrap();
    out(&cli(home.path(), &["config", "set", "agent.max_iterations", "9"]));
    assert_eq!(config(home.path()), before.replace("= 7", "= 9"), "comments and order stay");
    out(&cli(home.path(), &["config", "set", "channels.webchat.allowed_hosts", "[\"a.example\"]"]));
    out(&cli(home.path(), &["config", "set", "model.model_id", "some-model:7b"]));
    let text = config(home.path());
    assert!(text.contains("# patience") && text.contains("# offline"), "{text}");
    let get = |key: &str| out(&cli(home.path(), &["config", "get", key])).trim().to_owned();
    assert_eq!(
        (get("agent.max_iterations").as_str(), get("model.model_id").as_str()),
        ("9", "some-model:7b")
    );
    assert!(get("channels.webchat.allowed_hosts").contains("a.example"));
}

#[test]
fn config_set_refuses_invalid_values() {
    let home = home();
    out(&cli(home.path(), &["config", "set", "agent.max_iterations", "9"]));
    let before = config(home.path());
    for (key, value) in [
        ("agent.max_iterations", "many"),
        ("model.provider", "opnai"),
        ("channels.webchat.port", "70000"),
        ("", "1"),
        ("model", "x"),
    ] {
        let output = cli(home.path(), &["config", "set", key, value]);
        assert!(output.status.code().is_some_and(|code| code != 0), "{key} = {value}");
        assert!(!words(&output).is_empty());
        assert_eq!(config(home.path()), before, "{key} = {value}: the file is as it was");
    }
}

#[test]
fn config_set_of_an_unknown_key_names_the_nearest_one() {
    let home = home();
    let output = cli(home.path(), &["config", "set", "model.provder", "fake"]);
    let told = words(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("model.provider"), "as at a start, a slip of the pen is pointed out: {told}");
}

#[test]
fn config_set_creates_the_home() {
    let root = home();
    let fresh = root.path().join("not/there/yet");
    out(&cli(&fresh, &["config", "set", "model.provider", "fake"]));
    assert_eq!(out(&cli(&fresh, &["config", "get", "model.provider"])).trim(), "fake");
    let other = root.path().join("another");
    assert_eq!(run_cli(&other, &["secrets", "set", "name"], Some("value")).status.code(), Some(0));
}

#[test]
fn config_says_when_a_change_takes_effect_and_offers_the_reload() {
    let home = home();
    let set = |key: &str, value: &str, more: &[&str]| {
        out(&cli(home.path(), &[&["config", "set", key, value], more].concat()))
    };
    assert!(set("budget.daily_usd", "5", &[]).contains("no aethon-server runs"), "nothing runs yet");
    assert!(cli(home.path(), &["config", "reload"]).status.code() == Some(1), "nor can anything reload");
    let server = Server::start_in(home.clone(), &["model.provider=fake"]);
    let ceiling = || server.get("/api/usage").json()["budget"]["daily_usd"].clone();
    assert_eq!(ceiling(), 5.0);
    let told = set("budget.daily_usd", "7", &[]);
    assert!(told.contains("`aethon-cli config reload` applies it"), "{told}");
    assert_eq!(ceiling(), 5.0, "nobody asked for the reload");
    let told = out(&cli(home.path(), &["config", "reload"]));
    assert!(told.contains("has taken over budget.daily_usd"), "{told}");
    assert_eq!(ceiling(), 7.0);
    assert!(set("budget.daily_usd", "8", &["--reload"]).contains("has taken over budget.daily_usd"));
    assert_eq!(ceiling(), 8.0);
    let told = set("agent.loop_limit", "5", &["--reload"]);
    assert!(told.contains("when it is restarted") && !told.contains("taken over"), "{told}");
    let told = out(&cli(home.path(), &["config", "reload"]));
    assert!(told.contains("after a restart only: agent.loop_limit"), "{told}");
    set("budget.daily_usd", "9", &[]);
    set("agent.loop_limit", "6", &[]);
    out(&cli(home.path(), &["config", "reload"]));
    let audit = server.get("/api/audit?action=config").json();
    let is_told = |entry: &Value| {
        entry["outcome"] == "reloaded" && entry["subject"] == "budget.daily_usd, agent.loop_limit"
    };
    assert!(audit["audit"].as_array().unwrap().iter().any(is_told), "{audit}");
    let told = out(&cli(home.path(), &["config", "unset", "budget.daily_usd", "--reload"]));
    assert!(told.contains("has taken over budget.daily_usd"), "{told}");
    assert_eq!(ceiling(), 0.0);
    std::fs::write(home.path().join("config.toml"), "[agent]\nloop_limit = \"many\"\n").unwrap();
    let refused = cli(home.path(), &["config", "reload"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(words(&refused).contains("loop_limit"), "{}", words(&refused));
    assert_eq!(server.post("/api/config/reload", &json!({})).status, 422);
}

#[test]
fn config_lists_and_explains_the_keys() {
    let home = home();
    out(&cli(home.path(), &["config", "set", "agent.loop_limit", "9"]));
    let all = out(&cli(home.path(), &["config", "list"]));
    let row = |text: &str, key: &str| {
        let found = text.lines().find(|line| line.starts_with(&format!("{key} ")));
        found
            .unwrap_or_else(|| panic!("no {key}: {text}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row(&all, "agent.max_iterations"), ["agent.max_iterations", "40", "default", "restart"]);
    assert_eq!(row(&all, "budget.daily_usd").last().unwrap(), "reload");
    let set = out(&cli(home.path(), &["config", "list", "--set"]));
    assert!(row(&set, "agent.loop_limit")[2].ends_with("config.toml:2"), "{set}");
    assert!(!set.contains("max_iterations"), "{set}");
    let part = out(&cli(home.path(), &["config", "list", "backup", "--json"]));
    let part: Value = serde_json::from_str(&part).unwrap();
    assert!(
        part["keys"].as_array().unwrap().iter().all(|key| key["key"].as_str().unwrap().contains("backup"))
    );
    let told = out(&cli(home.path(), &["config", "explain", "agent.loop_limit"]));
    for part in [
        "How often the same call",
        "value:    9 (",
        "config.toml:2",
        "default:  3",
        "from 2 to 10000",
        "next start",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    out(&cli(home.path(), &["config", "set", "--force", "dashboard.auth_token", "\"a long enough token\""]));
    let told = out(&cli(home.path(), &["config", "explain", "dashboard.auth_token"]));
    assert!(
        told.contains("***") && told.contains("secrets set") && !told.contains("a long enough"),
        "{told}"
    );
    let told = out(&cli(home.path(), &["config", "explain", "budget.pricing.my-model.input"]));
    assert!(told.contains("not set") && told.contains("reload"), "{told}");
    assert!(out(&cli(home.path(), &["config", "explain", "backup"])).contains("backup.schedule"));
    assert_eq!(cli(home.path(), &["config", "explain", "nonsense"]).status.code(), Some(2));
}

#[test]
fn config_check_is_0_or_2() {
    let home = home();
    assert_eq!(cli(home.path(), &["config", "check"]).status.code(), Some(0), "no file is fine");
    std::fs::write(home.path().join("config.toml"), "[model]\nprovder = \"fake\"\n").unwrap();
    let warned = cli(home.path(), &["config", "check"]);
    assert_eq!(warned.status.code(), Some(0));
    assert!(
        words(&warned).contains("model.provder") && words(&warned).contains("model.provider"),
        "{}",
        words(&warned)
    );
    std::fs::write(home.path().join("config.toml"), "[model]\nprovider = \"opnai\"\n").unwrap();
    let refused = cli(home.path(), &["config", "check"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        words(&refused).contains("config.toml:2") && words(&refused).contains("model.provider"),
        "{}",
        words(&refused)
    );
}

#[test]
fn config_show_is_toml_that_can_be_read_again() {
    let home = home();
    let shown = out(&cli(home.path(), &["--set", "agent.loop_limit=9", "config", "show"]));
    assert!(shown.contains("[channels.webchat]") && shown.contains("loop_limit = 9"), "{shown}");
    std::fs::write(home.path().join("config.toml"), &shown).unwrap();
    assert_eq!(cli(home.path(), &["config", "check"]).status.code(), Some(0));
    assert_eq!(out(&cli(home.path(), &["config", "get", "agent.loop_limit"])).trim(), "9");
}

#[test]
fn secrets_are_stored_listed_and_removed() {
    let home = home();
    assert_eq!(
        run_cli(home.path(), &["secrets", "set", "openai"], Some("sk-value\n")).status.code(),
        Some(0)
    );
    assert_eq!(run_cli(home.path(), &["secrets", "set", "a.b_c-1"], Some("x")).status.code(), Some(0));
    let stored = std::fs::read_to_string(home.path().join("credentials/openai")).unwrap();
    assert_eq!(stored.trim_end_matches('\n'), "sk-value");
    let list = out(&cli(home.path(), &["secrets", "list"]));
    assert!(list.contains("openai") && list.contains("a.b_c-1") && !list.contains("sk-value"), "{list}");
    let list: Value = serde_json::from_str(&out(&cli(home.path(), &["secrets", "list", "--json"]))).unwrap();
    assert!(list.to_string().contains("openai"), "{list}");
    // It can be replaced, and referred to.
    run_cli(home.path(), &["secrets", "set", "openai"], Some("sk-other\n"));
    assert_eq!(
        std::fs::read_to_string(home.path().join("credentials/openai")).unwrap().trim_end(),
        "sk-other"
    );
    let referred = ["--set", "model.api_key=\"${credential:openai}\"", "config", "check"];
    assert_eq!(cli(home.path(), &referred).status.code(), Some(0));

    let refused = run_cli(home.path(), &["secrets", "rm", "openai"], Some("yes\n"));
    assert!(refused.status.code() != Some(0) && words(&refused).contains("--yes"), "{}", words(&refused));
    assert!(home.path().join("credentials/openai").exists());
    assert_eq!(cli(home.path(), &["secrets", "rm", "--yes", "openai"]).status.code(), Some(0));
    assert!(!home.path().join("credentials/openai").exists());
    assert_eq!(cli(home.path(), &["secrets", "rm", "--yes", "openai"]).status.code(), Some(1));
}

#[test]
fn a_secret_has_a_plain_name_and_a_value() {
    let home = home();
    for name in ["../x", "a/b", "", ".", "..", ".hidden/x", "a b", "x\ny", &"x".repeat(300)] {
        let output = run_cli(home.path(), &["secrets", "set", name], Some("value"));
        assert!(output.status.code().is_some_and(|code| code != 0), "{name:?}");
        assert!(!words(&output).contains("value\n"), "{name:?}");
    }
    assert!(
        run_cli(home.path(), &["secrets", "set", "name"], Some("\n")).status.code() != Some(0),
        "an empty value"
    );
    let stored = std::fs::read_dir(home.path().join("credentials")).map_or(0, Iterator::count);
    assert_eq!(stored, 0);
    assert!(!home.path().join("x").exists());
}

#[test]
fn init_never_overwrites_silently() {
    let home = home();
    out(&cli(home.path(), &["init", "--provider", "fake"]));
    assert_eq!(cli(home.path(), &["config", "check"]).status.code(), Some(0));
    assert_eq!(out(&cli(home.path(), &["config", "get", "model.provider"])).trim(), "fake");
    let mine = config(home.path()) + "# mine\n";
    std::fs::write(home.path().join("config.toml"), &mine).unwrap();
    let refused = cli(home.path(), &["init", "--provider", "echo"]);
    assert!(refused.status.code().is_some_and(|code| code != 0));
    assert!(words(&refused).contains("config.toml"), "{}", words(&refused));
    assert_eq!(config(home.path()), mine);
    // The written configuration starts a server.
    let server = Server::start_in(home, &[]);
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn init_without_a_terminal_asks_nothing() {
    let output = run_cli(home().path(), &["init"], Some(""));
    assert!(output.status.code().is_some_and(|code| code != 0), "{output:?}");
    assert!(words(&output).contains("--provider"), "{}", words(&output));
}

/// A person at a terminal chooses how often the assistant asks, and sees the recommended level: just pressing Enter
/// gets it.
#[test]
fn init_offers_three_levels_of_caution_to_a_person() {
    for (typed, is_enabled, asks_outbound) in [
        ("", "true", false),
        ("y", "true", false),
        ("no", "false", false),
        ("3", "true", true),
        ("guarded", "true", true),
    ] {
        let home = home();
        let mut command = program("aethon-cli", home.path());
        command.args(["init", "--provider", "fake", "--model", "fake"]);
        let mut terminal = Terminal::start_sized(&mut command, 200, 40);
        let question = terminal.wait_for_text("1, 2 or 3 [ask]");
        for words in ["ask you before", "Recommended", "open", "guarded", "leaves this machine"] {
            assert!(question.contains(words), "{words}: {question}");
        }
        assert!(config(home.path()).is_empty(), "nothing is written before the answer");
        terminal.enter(typed);
        terminal.wait_for_text("What the assistant can reach");
        assert!(terminal.end().success(), "{typed:?}");
        let get = |key: &str| out(&cli(home.path(), &["config", "get", key]));
        assert_eq!(get("approval.enabled").trim(), is_enabled, "{typed:?}");
        assert_eq!(get("approval.requires_approval").contains("outbound"), asks_outbound, "{typed:?}");
    }
}

#[test]
fn init_accepts_a_caution_level_flag_and_refuses_unknown_levels() {
    for (flag, value, is_enabled, asks_outbound) in [
        ("--caution", "open", "false", false),
        ("--caution", "ask", "true", false),
        ("--caution", "guarded", "true", true),
        ("--ask-first", "true", "true", false),
        ("--ask-first", "false", "false", false),
    ] {
        let home = home();
        out(&cli(home.path(), &["init", "--provider", "fake", flag, value]));
        let get = |key: &str| out(&cli(home.path(), &["config", "get", key]));
        assert_eq!(get("approval.enabled").trim(), is_enabled, "{flag} {value}");
        assert_eq!(get("approval.requires_approval").contains("outbound"), asks_outbound, "{flag} {value}");
    }
    let home = home();
    let refused = run_cli(home.path(), &["init", "--provider", "fake", "--caution", "bold"], None);
    assert!(!refused.status.success() && words(&refused).contains("guarded"), "{refused:?}");
}

/// What nothing holds back is the default of the specification, so no warning; but `ok` it is not called.
#[test]
fn doctor_and_the_check_call_an_open_assistant_open() {
    let home = home();
    let sets = |more: &[&str]| {
        let base = ["model.provider=fake", "channels.webchat.port=0"];
        base.iter()
            .chain(more)
            .flat_map(|setting| ["--set".to_owned(), (*setting).to_owned()])
            .collect::<Vec<_>>()
    };
    let run = |more: &[&str], command: &[&str]| {
        let sets = sets(more);
        let all: Vec<&str> = sets.iter().map(String::as_str).chain(command.iter().copied()).collect();
        out(&cli(home.path(), &all))
    };
    let report: Value = serde_json::from_str(&run(&[], &["doctor", "--json"])).unwrap();
    let reach = |report: &Value, words: &str| {
        let findings = report["findings"].as_array().unwrap().clone();
        let is_it = |finding: &Value| {
            finding["area"] == "reach" && finding["message"].as_str().unwrap().contains(words)
        };
        findings.into_iter().find(is_it).unwrap_or_else(|| panic!("{words}: {report}"))["health"].clone()
    };
    assert_eq!(
        (&report["healthy"], reach(&report, "without asking")),
        (&Value::from(true), Value::from("note"))
    );
    assert!(run(&[], &["doctor"]).contains("note     reach: open: It runs commands"));
    let guarded = ["approval.enabled=true", "approval.requires_approval=[\"outbound\"]"];
    let report: Value = serde_json::from_str(&run(&guarded, &["doctor", "--json"])).unwrap();
    assert_eq!(reach(&report, "asks you before it sends"), "ok");
    assert_eq!(reach(&report, "asks you before it runs a command"), "ok");
    let check = run_server(home.path(), &["--check", "--set", "model.provider=fake"]);
    let check = String::from_utf8_lossy(&check.stdout).into_owned() + &words(&check);
    assert!(check.contains("open      It runs commands on this machine as you, without asking"), "{check}");
}

#[test]
fn a_healthy_doctor_exits_0() {
    let home = home();
    let fake = ["--set", "model.provider=fake", "--set", "channels.webchat.port=0"];
    out(&cli(home.path(), &["init", "--provider", "fake"]));
    let healthy = cli(home.path(), &[&fake[..], &["doctor"]].concat());
    let report = out(&healthy);
    for area in ["config", "home", "model", "database", "port"] {
        assert!(report.to_lowercase().contains(area), "{area} in {report}");
    }
    let document: Value =
        serde_json::from_str(&out(&cli(home.path(), &[&fake[..], &["doctor", "--json"]].concat()))).unwrap();
    assert!(document.is_object() || document.is_array(), "{document}");
}

#[test]
fn a_broken_doctor_exits_1_with_a_fix_for_each_finding() {
    let home = home();
    let check = |settings: &[&str], all: &[&str]| {
        let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let output = cli(home.path(), &[&sets[..], &["doctor"]].concat());
        let report = String::from_utf8_lossy(&output.stdout).into_owned() + &words(&output);
        assert_eq!(output.status.code(), Some(1), "{report}");
        for word in all {
            assert!(report.contains(word), "{word} in {report}");
        }
    };
    check(&["model.provider=openai"], &["model.api_key", "OPENAI_API_KEY"]);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let host = format!("model.host=\"http://{gone}\"");
    check(&["model.provider=ollama", &host], &["model.host"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("channels.webchat.port={}", taken.local_addr().unwrap().port());
    check(&["model.provider=fake", &port], &["channels.webchat.port"]);
    std::fs::write(home.path().join("aethon.db"), "no database ".repeat(100)).unwrap();
    check(&["model.provider=fake"], &["aethon.db"]);
    std::fs::write(home.path().join("config.toml"), "[model]\nprovider = \"opnai\"\n").unwrap();
    check(&[], &["config.toml:2", "opnai"]);
}

#[test]
fn a_doctor_counts_warnings_when_asked_to() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    out(&cli(home.path(), &["init", "--provider", "fake"]));
    std::fs::set_permissions(home.path().join("config.toml"), PermissionsExt::from_mode(0o644)).unwrap();
    let fake =
        ["--set", "model.provider=fake", "--set", "channels.webchat.port=0", "--set", "model.provder=x"];
    let lenient = cli(home.path(), &[&fake[..], &["doctor"]].concat());
    let strict = cli(home.path(), &[&fake[..], &["doctor", "--strict"]].concat());
    assert_eq!(strict.status.code(), Some(1), "{strict:?}");
    let report = String::from_utf8_lossy(&strict.stdout).into_owned();
    assert!(report.contains("config.toml") && report.contains("chmod"), "says how to mend it: {report}");
    assert!([Some(0), Some(1)].contains(&lenient.status.code()));
}

#[test]
fn a_doctor_beside_a_running_daemon_is_healthy() {
    let server = Server::start(&[]);
    let home = server.home();
    let port = format!("channels.webchat.port={}", server.address.port());
    let output = cli(home.path(), &["--set", "model.provider=fake", "--set", &port, "doctor"]);
    assert_eq!(output.status.code(), Some(0), "its own port is not in its way: {output:?}");
}
