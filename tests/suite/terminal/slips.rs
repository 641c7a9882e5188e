//! Slips of the first hour at the command line: each is answered with what is wrong and what to do, and nothing is changed.

use std::path::Path;
use std::process::Output;

use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{Server, Terminal, home, program, run_cli};
use serde_json::json;

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn check(home: &Path, arguments: &[&str], code: i32, expected: &[&str]) -> String {
    let output = run_cli(home, arguments, None);
    let text = words(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    for word in expected {
        assert!(text.contains(word), "{arguments:?}: {word} is not in {text}");
    }
    text
}

#[test]
fn slip_in_a_model_id_is_warned_of_before_the_first_question() {
    let home = home();
    let slip = ["--set", "model.provider=anthropic", "--set", "model.model_id=claude-sonet-5-5"];
    let warning = ["\"claude-sonet-5-5\" by anthropic is in no table", "\"claude-sonnet-5-5\"", "in model"];
    let with = |more: &[&'static str]| [&slip[..], more].concat();
    check(home.path(), &with(&["config", "check"]), 0, &warning);
    check(home.path(), &with(&["config", "check", "--strict"]), 2, &warning);
    let flags = ["init", "--provider", "anthropic", "--model", "claude-sonet-5-5", "--caution", "ask"];
    check(home.path(), &flags, 0, &warning);
    let unknown = ["--set", "model.model_id=of-next-year", "config", "check", "--strict"];
    let text = check(home.path(), &unknown, 0, &[]);
    assert!(!text.contains("warning"), "{text}");
}

#[test]
fn doctor_names_the_nearest_models_that_the_service_lists() {
    let service = Stub::answering(|seen| match seen.line.as_str() {
        "GET /v1/models" => {
            let models = ["team-large", "team-small"].map(|id| json!({"id": id, "object": "model"}));
            ok("application/json", &json!({"object": "list", "data": models}).to_string())
        }
        _ => failure("404 Not Found", "", "{}"),
    });
    let home = home();
    let host = format!("model.host=http://{}/v1", service.address);
    let doctor = |model: &str| {
        let model = format!("model.model_id={model}");
        let sets = ["--set", &host, "--set", &model, "--set", "model.api_key=sk-x"];
        let port = ["--set", "channels.webchat.port=0", "doctor", "--all"];
        words(&run_cli(home.path(), &[&sets[..], &port].concat(), None))
    };
    let slip = doctor("team-lrage");
    assert!(slip.contains("warning  model: ") && slip.contains("the nearest are team-large"), "{slip}");
    assert!(slip.contains("correct model.model_id"), "{slip}");
    let right = doctor("team-small");
    assert!(right.contains("ok       model: ") && !right.contains("the nearest"), "{right}");
}

#[test]
fn a_key_without_its_value_is_told_what_it_takes() {
    let home = home();
    let set = |key: &str, expected: &[&str]| check(home.path(), &["config", "set", key], 2, expected);
    let text = set("model.provider", &["openai", "ollama", "aethon-cli config set model.provider ", "unset"]);
    assert!(!text.contains("Usage:"), "{text}");
    set("agent.loop_limit", &["from 2 to 10000", "config set agent.loop_limit VALUE"]);
    set("scheduler.jobs.tea.missed", &["scheduler.jobs.tea.missed needs a value (skip, run_once)"]);
    set("model.providr", &["there is no key \"model.providr\"", "the nearest is model.provider;"]);
    assert!(!home.path().join("config.toml").exists(), "nothing is written");
}

#[test]
fn a_slip_in_a_provider_is_told_the_nearest_one() {
    let home = home();
    for arguments in [
        &["init", "--provider", "antropic", "--model", "x"][..],
        &["config", "set", "model.provider", "antropic"],
        &["--set", "model.provider=antropic", "config", "check"],
    ] {
        check(home.path(), arguments, 2, &["\"antropic\"", "the nearest is anthropic"]);
    }
    assert!(!home.path().join("config.toml").exists(), "nothing is written");
}

#[test]
fn an_entry_that_needs_several_keys_is_written_at_once() {
    let home = home();
    let whole = ["config set scheduler.jobs.tea '{ prompt = \"Tea!\"", "scheduler.jobs.tea.cron"];
    check(home.path(), &["config", "set", "scheduler.jobs.tea.prompt", "Tea!"], 2, &whole);
    let entry = r#"{ prompt = "Tea!", cron = "@daily" }"#;
    check(home.path(), &["config", "set", "scheduler.jobs.tea", entry], 0, &["scheduler.jobs.tea is set"]);
    check(home.path(), &["config", "set", "scheduler.jobs.tea.cron", "@weekly"], 0, &["is set"]);
    check(home.path(), &["config", "get", "scheduler.jobs.tea.cron"], 0, &["@weekly"]);
    // A wrong value is told as itself.
    let text = check(home.path(), &["config", "set", "scheduler.jobs.tea.cron", "now"], 2, &["tea.cron"]);
    assert!(!text.contains("config set scheduler.jobs.tea '"), "{text}");
}

#[test]
fn what_is_a_command_elsewhere_is_answered_with_what_does_it_here() {
    let home = home();
    check(home.path(), &["start"], 2, &["`aethon-server` starts the server", "service install"]);
    check(home.path(), &["status"], 2, &["`aethon-cli doctor` checks everything"]);
    check(home.path(), &["login"], 2, &["aethon-cli secrets set NAME"]);
    check(home.path(), &["sesions"], 2, &["a similar subcommand exists: 'sessions'"]);
    check(home.path(), &["config", "set", "model.provider=echo"], 0, &["model.provider is set in "]);
    check(home.path(), &["config", "get", "model.provider"], 0, &["echo"]);
    check(home.path(), &["channels", "test", "telegrm"], 2, &["\"telegrm\"", "channels list"]);
    for (flag, expected) in [
        ("-p", "--set channels.webchat.port=8080"),
        ("--daemon", "aethon-cli service install"),
        ("start", "`aethon-server` alone starts it"),
    ] {
        let output = program("aethon-server", home.path()).arg(flag).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(words(&output).contains(expected), "{}", words(&output));
    }
}

#[test]
fn secret_on_the_command_line_is_refused_and_not_repeated() {
    let home = home();
    let text = check(home.path(), &["secrets", "set", "openai", "sk-typed"], 2, &["secrets set openai"]);
    assert!(!text.contains("sk-typed"), "{text}");
    assert!(!home.path().join("credentials/openai").exists());
}

#[test]
fn pasted_secret_loses_its_blanks_and_a_refused_removal_says_so() {
    let home = home();
    let stored = || std::fs::read_to_string(home.path().join("credentials/openai")).unwrap_or_default();
    let mut set = program("aethon-cli", home.path());
    let mut terminal = Terminal::start(set.args(["secrets", "set", "openai"]));
    terminal.wait_for_text("(not shown)");
    terminal.press("  sk-pasted \r");
    terminal.wait_for_text("stored; use it as");
    assert!(terminal.end().success());
    assert_eq!(stored().trim_end_matches('\n'), "sk-pasted");
    // A program that pipes a value means all of it.
    assert!(run_cli(home.path(), &["secrets", "set", "openai"], Some(" x \n")).status.success());
    assert_eq!(stored().trim_end_matches('\n'), " x ");
    let mut remove = program("aethon-cli", home.path());
    let mut terminal = Terminal::start(remove.args(["secrets", "rm", "openai"]));
    terminal.wait_for_text("type yes: ");
    terminal.press("n\r");
    terminal.wait_for_text("nothing was changed");
    assert_eq!(terminal.end().code(), Some(1));
    assert_eq!(stored().trim_end_matches('\n'), " x ");
}

#[test]
fn jobs_that_cannot_be_made_are_refused_with_the_remedy() {
    let home = home();
    let add = |more: &[&'static str], expected: &[&str]| {
        check(home.path(), &[&["jobs", "add", "--prompt", "x"][..], more].concat(), 2, expected);
    };
    let channel = ["channel \"telegramm\" does not exist", "set up: webchat"];
    add(&["--cron", "@daily", "--channel", "telegramm"], &channel);
    add(&["--cron", "0 0 31 2 *"], &["never comes: no month has such a day"]);
    add(&["--run-at", "2020-01-01T08:00"], &["in the past", "a time to come"]);
    add(&["--cron", "@daily", "--sop", "nope"], &["there is no SOP named nope", "list of SOPs"]);
}

#[test]
fn bedrock_without_a_region_is_told_where_it_comes_from() {
    let home = home();
    let init = ["init", "--provider", "bedrock", "--caution", "ask"];
    check(home.path(), &init, 0, &["AWS_REGION", "aethon-cli config set model.region us-east-1"]);
}

#[test]
fn no_color_holds_for_every_command_and_the_chat() {
    let home = home();
    let run = |flag: &[&str]| {
        let mut command = program("aethon-cli", home.path());
        command.args(["--set", "model.provider=echo"]).args(flag).args(["ask", "**bold** `code`"]);
        let mut terminal = Terminal::start(&mut command);
        terminal.wait_for_text("code");
        terminal.all()
    };
    assert!(run(&[]).contains("\u{1b}[1m"), "a terminal has colours");
    let plain = run(&["--no-color"]);
    assert!(!plain.contains("\u{1b}[1m") && !plain.contains("\u{1b}[36m"), "{plain:?}");
    let mut chat = program("aethon-cli", home.path());
    let arguments = ["--no-color", "--set", "model.provider=echo", "-s", "garden"];
    let mut terminal = Terminal::start(chat.args(arguments));
    terminal.wait_for_screen("the conversation", |screen| screen.ends_with("garden>"));
    assert!(!terminal.all().contains("\u{1b}[1m"), "{:?}", terminal.all());
}

#[test]
fn root_is_warned_of_at_the_start_and_by_doctor() {
    let is_root = rustix::process::geteuid().is_root();
    let server = Server::start(&[]);
    assert_eq!(server.stderr().contains("Aethon runs as root"), is_root, "{}", server.stderr());
    let sets = ["--set", "model.provider=fake", "doctor", "--all"];
    let text = words(&run_cli(server.home().path(), &sets, None));
    let line = text.lines().find(|line| line.contains("self-protection: ")).expect("the finding");
    assert!(!is_root || line.starts_with("warning"), "{line}");
}

#[test]
fn commands_on_the_files_of_a_home_refuse_another_address() {
    let home = home();
    for arguments in [
        &["config", "set", "budget.daily_usd", "1"][..],
        &["config", "get", "model.provider"],
        &["secrets", "list"],
        &["init", "--provider", "echo"],
        &["model", "list"],
        &["completions", "bash"],
        &["doctor"],
    ] {
        let line = [&["--connect", "http://127.0.0.1:9"], arguments].concat();
        check(home.path(), &line, 2, &["run it where that is, without --connect"]);
    }
    assert!(!home.path().join("config.toml").exists());
}

#[test]
fn what_is_not_there_is_told_in_the_same_words_with_and_without_a_server() {
    let alone = home();
    assert!(run_cli(alone.path(), &["init", "--provider", "echo"], None).status.success());
    let server = Server::start(&[]);
    for arguments in [
        &["sessions", "show", "nope"][..],
        &["recordings", "show", "nope"],
        &["tasks", "show", "nope"],
        &["sop", "show", "nope"],
        &["jobs", "run", "nope"],
        &["jobs", "rm", "--yes", "nope"],
        &["memory", "rm", "--yes", "nope"],
    ] {
        let [one, other] = [alone.path(), server.home().path()].map(|home| run_cli(home, arguments, None));
        assert_eq!(one.status.code(), Some(1), "{arguments:?}: {}", words(&one));
        assert_eq!(words(&one), words(&other), "{arguments:?}");
        assert!(words(&one).contains("aethon-cli "), "{arguments:?}: {}", words(&one));
        assert!(!words(&one).contains("/api/"), "{arguments:?}: {}", words(&one));
    }
}

#[test]
fn slips_on_the_command_line_are_told_with_the_remedy_and_end_with_2() {
    let home = home();
    let at = home.path();
    for (arguments, expected) in [
        (&["what time is it?"][..], &["aethon-cli ask"][..]),
        (&["-p", "hello"], &["aethon-cli ask"]),
        (&["version"], &["aethon-cli --version"]),
        (
            &["--log-level", "loud", "config", "path"],
            &["'loud'", "--log-level", "trace, debug, info, warn, error"],
        ),
        (&["sessions", "list", "--limit", "0"], &["'0'", "--limit"]),
        (&["sessions", "list", "--limit", "-1"], &["'-1'", "--limit"]),
        (&["ask", "--no-stdin"], &["nothing to ask"]),
        (&["jobs", "add", "--at", "31.12.2026", "--prompt", "x"], &["\"31.12.2026\" is no time such as"]),
        (&["init", "--provider", "openai", "--region", "eu"], &["--region is for bedrock"]),
        (&["config", "get", "model.providr"], &["the nearest is model.provider"]),
        (&["config", "unset", "modl.provider"], &["the nearest is model.provider"]),
        (&["config", "list", "nosuch"], &["there is no key \"nosuch\""]),
    ] {
        check(at, arguments, 2, expected);
    }
    let unknown = ["--set", "model.provider=fake", "ask", "--model", "nosuch", "--no-stdin", "hi"];
    check(at, &unknown, 1, &["nosuch", "aethon-cli model list"]);
    check(at, &["config", "list", "--set"], 0, &["every key has its default"]);
    check(at, &["config", "list", "budget", "--set"], 0, &["no key with \"budget\" is set"]);
    let weak = ["--set", "dashboard.auth_token=a", "config", "check"];
    check(at, &weak, 0, &["has only 1 character and", "is fine"]);
    check(at, &[&weak[..], &["--strict"]].concat(), 2, &["warnings: 1"]);
    let adrift = ["--set", "scheduler.default_channel=telegrm"];
    check(
        at,
        &[&adrift[..], &["config", "check"]].concat(),
        0,
        &["scheduler.default_channel", "set up: webchat"],
    );
    let job = ["jobs", "add", "--cron", "@daily", "--prompt", "x"];
    check(at, &[&adrift[..], &job].concat(), 2, &["\"telegrm\" does not exist", "scheduler.default_channel"]);
    let missing = at.join("nowhere");
    check(&missing, &["config", "get", "model.provider"], 0, &["there is no home at", "nowhere yet"]);
    check(at, &["secrets", "list"], 0, &["no secrets are stored"]);
    let elsewhere = format!("backup.dir={}/away/backups", at.display());
    check(at, &["--set", &elsewhere, "backup"], 2, &["away is missing", "backup.dir"]);
    assert!(!at.join("away").exists() && !missing.exists());
}

#[test]
fn removal_of_a_secret_names_the_keys_that_use_it() {
    let home = home();
    let path = home.path();
    let stored = run_cli(path, &["secrets", "set", "tok"], Some("0123456789abcdef"));
    assert!(stored.status.success());
    let key = "[dashboard]\nauth_token = \"${credential:tok}\"\n";
    std::fs::write(path.join("config.toml"), key).unwrap();
    check(
        path,
        &["secrets", "rm", "tok", "--yes"],
        0,
        &["tok is removed", "dashboard.auth_token still refers to it"],
    );
}

#[test]
fn changed_token_is_told_with_what_makes_the_server_take_it_up() {
    let server = Server::start(&[]);
    let home = server.home();
    let path = home.path();
    check(
        path,
        &["config", "set", "dashboard.auth_token", "0123456789abcdef", "--reload"],
        0,
        &["dashboard.auth_token"],
    );
    check(path, &["config", "set", "dashboard.auth_token", "fedcba9876543210"], 0, &[]);
    check(path, &["config", "reload"], 1, &["still has the token of before", "SIGHUP"]);
    check(path, &["sessions", "list"], 1, &["does not take this token"]);
    server.signal(rustix::process::Signal::HUP);
    aethon_tests::eventually("it has the new token", || {
        run_cli(path, &["sessions", "list"], None).status.success().then_some(())
    });
    let port = format!("https://127.0.0.1:{}", server.address.port());
    check(path, &["--connect", &port, "sessions", "list"], 1, &["does not speak https"]);
    check(path, &["--connect", "http://nowhere.invalid:1", "sessions", "list"], 1, &["is not known"]);
}
