//! The first hour: `init` with a person and with flags, and what `doctor` says first.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use aethon_tests::{Server, Terminal, home, program, run_cli};

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn config(home: &Path) -> String {
    std::fs::read_to_string(home.join("config.toml")).unwrap_or_default()
}

/// `init` before a person.
fn init(home: &Path, arguments: &[&str]) -> Terminal {
    let mut command = program("aethon-cli", home);
    command.arg("init").args(arguments);
    Terminal::start_sized(&mut command, 150, 50)
}

#[test]
fn a_typo_is_asked_again_and_the_key_is_hidden_and_kept() {
    let home = home();
    let mut terminal = init(home.path(), &[]);
    terminal.wait_for_text("model provider (");
    terminal.press("antropic\r");
    terminal.wait_for_text("\"antropic\" is not one of them; the nearest is anthropic");
    terminal.press("anthropic\r");
    terminal.wait_for_text("it is not shown");
    // Nothing answers there, so that no model is listed.
    terminal.press("  sk-secret-of-a-person \r");
    terminal.wait_for_text("model");
    terminal.wait_for_text("]: ");
    terminal.press("claude-x\r");
    terminal.wait_for_text("1, 2 or 3 [ask]");
    terminal.press("3\r");
    terminal.wait_for_text("Ask the model for one answer now? [yes]: ");
    terminal.press("perhaps\r");
    terminal.wait_for_text("is neither yes nor no");
    terminal.press("no\r");
    terminal.wait_for_text("aethon-cli service install");
    assert!(!terminal.all().contains("sk-secret"), "{}", terminal.screen());
    assert!(terminal.end().success());
    let kept = std::fs::read_to_string(home.path().join("credentials/anthropic")).unwrap();
    assert_eq!(kept.trim_end_matches('\n'), "sk-secret-of-a-person");
    let text = config(home.path());
    assert!(text.contains("api_key = \"${credential:anthropic}\"") && text.contains("claude-x"), "{text}");
    assert!(text.contains("outbound") && !text.contains("sk-secret"), "{text}");
}

#[test]
fn the_same_answers_by_flags_give_the_same_file() {
    let asked = home();
    let mut terminal = init(asked.path(), &[]);
    terminal.wait_for_text("model provider (");
    terminal.press("litellm\r");
    terminal.wait_for_text("address of the LiteLLM proxy: ");
    terminal.press("\r");
    terminal.wait_for_text("an address begins with http://");
    terminal.press("http://127.0.0.1:9\r");
    terminal.wait_for_text("it is not shown");
    terminal.press("k\r");
    terminal.wait_for_text("]: ");
    terminal.press("m\r");
    terminal.wait_for_text("1, 2 or 3 [ask]");
    terminal.press("\r");
    terminal.wait_for_text("[yes]: ");
    terminal.press("n\r");
    assert!(terminal.end().success());
    let told = home();
    let flags =
        ["init", "--provider", "litellm", "--host", "http://127.0.0.1:9", "--key-stdin", "--model", "m"];
    let output = run_cli(told.path(), &[&flags[..], &["--caution", "ask"]].concat(), Some(" k \n"));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(config(asked.path()), config(told.path()));
    let refused = run_cli(home().path(), &["init", "--provider", "litellm"], None);
    assert_eq!(refused.status.code(), Some(2), "an address is needed: {refused:?}");
    let bedrock = home();
    let flags = ["init", "--provider", "bedrock", "--region", "eu-west-1", "--caution", "ask"];
    assert!(run_cli(bedrock.path(), &flags, None).status.success());
    assert!(config(bedrock.path()).contains("region = \"eu-west-1\""));
}

#[test]
fn a_chat_without_a_model_says_so_and_its_sentences_are_wrapped_between_words() {
    let home = home();
    let mut terminal = Terminal::start_sized(&mut program("aethon-cli", home.path()), 60, 50);
    terminal.wait_for_text("not set up yet (`aethon-cli init` does that)");
    terminal.press("/status\r");
    let sentence = "security.workspace_only = true confines it to the workspace.";
    terminal.wait_for_screen("whole words", |screen| {
        screen.split_whitespace().collect::<Vec<_>>().join(" ").contains(sentence)
    });
    terminal.press("\u{4}");
    assert!(terminal.end().success());
}

#[test]
fn init_never_writes_a_file_that_the_server_refuses() {
    let plain = home();
    let flags = ["init", "--provider", "ollama", "--model", "m", "--host", "http://192.168.1.20:11434"];
    let refused = run_cli(plain.path(), &flags, None);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(words(&refused).contains("pass --allow-http"), "{}", words(&refused));
    assert_eq!(config(plain.path()), "");
    let permitted = run_cli(plain.path(), &[&flags[..], &["--allow-http"]].concat(), None);
    assert!(permitted.status.success(), "{permitted:?}");
    assert!(config(plain.path()).contains("allow_http = true"), "{}", config(plain.path()));
    let check = run_cli(plain.path(), &["config", "check", "--strict"], None);
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn the_help_lists_what_belongs_to_a_command_before_what_every_command_has() {
    let help = words(&run_cli(home().path(), &["ask", "--help"], None));
    let place = |word: &str| help.find(word).unwrap_or_else(|| panic!("{word} is in {help}"));
    let own = ["--no-stdin", "--session", "--effort", "--model", "--schema", "--json"];
    let all = ["--home", "--config", "--set", "--log-level", "--log-format", "--connect"];
    let heading = place("Options of every command");
    assert!(own.iter().all(|word| place(word) < heading), "{help}");
    assert!(all.iter().all(|word| help.rfind(word).is_some_and(|at| at > heading)), "{help}");
    let of_help = run_cli(home().path(), &["help", "--help"], None);
    assert!(of_help.status.success() && words(&of_help).contains("doctor"), "{of_help:?}");
}

#[test]
fn a_flag_of_other_servers_is_answered_with_the_key() {
    let home = home();
    let output = program("aethon-server", home.path()).args(["--port", "8080"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(words(&output).contains("--set channels.webchat.port=8080"), "{}", words(&output));
}

#[test]
fn a_backup_goes_into_a_folder_that_is_not_there_yet() {
    let home = home();
    assert!(run_cli(home.path(), &["--set", "model.provider=echo", "ask", "hi"], None).status.success());
    let elsewhere = aethon_tests::home();
    let folder = format!("{}/mine/", elsewhere.path().join("kept").display());
    let output = run_cli(home.path(), &["backup", &folder], None);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn a_proxy_that_is_not_there_and_a_host_that_is_not_known_are_named() {
    let home = home();
    let ask = |host: &str, proxy: &str| {
        let mut command = program("aethon-cli", home.path());
        command.env("OPENAI_API_KEY", "sk-x").env("HTTPS_PROXY", proxy);
        let host = format!("model.host={host}");
        command.args(["--set", &host, "--set", "model.max_retries=0", "ask", "hi"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        words(&output)
    };
    let unknown = ask("https://no-such-host.invalid/v1", "");
    assert!(unknown.contains("https://no-such-host.invalid/v1 could not be found"), "{unknown}");
    let proxied = ask("https://api.example/v1", "http://127.0.0.1:9");
    assert!(proxied.contains("The proxy at 127.0.0.1:9") && proxied.contains("HTTPS_PROXY"), "{proxied}");
}

#[test]
fn the_end_of_the_answers_writes_nothing() {
    let home = home();
    let mut terminal = init(home.path(), &[]);
    terminal.wait_for_text("model provider (");
    terminal.press("\u{4}");
    terminal.wait_for_text("no configuration was written");
    assert_eq!(terminal.end().code(), Some(1));
    assert_eq!(config(home.path()), "");
}

#[test]
fn init_asks_the_model_for_one_answer() {
    let works = home();
    let output = run_cli(works.path(), &["init", "--provider", "fake", "--caution", "ask", "--test"], None);
    assert!(output.status.success() && words(&output).contains("then start `aethon-server`"), "{output:?}");
    let fails = home();
    let flags = ["init", "--provider", "ollama", "--host", "http://127.0.0.1:9", "--model", "m", "--test"];
    let output = run_cli(fails.path(), &flags, None);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(words(&output).contains("the model did not answer. `aethon-cli doctor`"), "{}", words(&output));
}

#[test]
fn doctor_says_what_is_wrong_first_and_mends_what_is_safe() {
    let home = home();
    assert!(run_cli(home.path(), &["init", "--provider", "fake"], None).status.success());
    let file = home.path().join("config.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let doctor = |more: &[&str]| {
        let sets = ["--set", "channels.webchat.port=0", "doctor"];
        words(&run_cli(home.path(), &[&sets[..], more].concat(), None))
    };
    let text = doctor(&[]);
    let health =
        |line: &str| ["broken", "warning", "note", "ok"].iter().position(|word| line.starts_with(word));
    let order: Vec<usize> = text.lines().filter_map(health).collect();
    assert!(order.is_sorted() && order.contains(&1) && text.contains("\nnext: "), "{text}");
    assert!(!text.contains("ok       feature:") && text.contains("--all lists everything"), "{text}");
    assert!(doctor(&["--all"]).contains("ok       feature: "));
    let fixed = doctor(&["--fix"]);
    assert!(fixed.contains("config.toml can be read by you alone now"), "{fixed}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(doctor(&["--fix"]).contains("no safe fix was needed"));
}

#[test]
fn the_flags_of_the_chat_need_no_command() {
    let server = Server::start(&[]);
    let mut command = program("aethon-cli", server.home().path());
    let mut terminal = Terminal::start(command.args(["-s", "garden"]));
    terminal.wait_for_screen("the conversation", |screen| screen.ends_with("garden>"));
    // Code has the colours of its language, and each kind of it another one.
    terminal.press("!say ```rust\u{1b}\r!say let a = \"b\"; // c\u{1b}\r!say ```\r");
    terminal.wait_for_text("\u{1b}[35mlet\u{1b}[0m");
    terminal.wait_for_text("\u{1b}[32m\"b\"\u{1b}[0m");
}

#[test]
fn slips_at_the_command_line_are_answered_with_the_remedy() {
    let home = home();
    let check = |arguments: &[&str], code: i32, expected: &[&str]| {
        let output = run_cli(home.path(), arguments, None);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", words(&output));
        for word in expected {
            assert!(words(&output).contains(word), "{arguments:?}: {word} is not in {}", words(&output));
        }
    };
    check(&["jobs", "add"], 2, &["--cron <CRON>|--run-at <TIME>", "--sop <NAME>", "--prompt <TEXT>"]);
    check(&["config", "set", "agent.loop_limit", "-1"], 2, &["agent.loop_limit", "-1"]);
    check(&["config", "set", "agent.model", "x"], 2, &["the nearest is model.model_id"]);
    check(&["config", "set", "scheduler.timezone", "x"], 2, &["scheduler.jobs.NAME.timezone"]);
    let set = ["config", "set", "model.api_key", "sk-a"];
    check(&set, 0, &["in plain text", "aethon-cli secrets set API_KEY", "${credential:API_KEY}"]);
    check(&["channels", "pair", "telegram"], 0, &["telegram is off in this configuration"]);
}

#[test]
fn another_web_server_is_not_taken_for_the_assistant() {
    let home = home();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let output = run_cli(home.path(), &["--connect", &address, "sessions", "list"], None);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(
        words(&output).contains("answers with status 404, and not as an aethon-server does"),
        "{}",
        words(&output)
    );
}
