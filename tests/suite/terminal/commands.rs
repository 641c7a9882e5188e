//! `aethon-cli` as a client: `ask`, `sessions`, attaching, `NO_COLOR`.

use std::path::Path;
use std::process::Output;

use aethon_tests::stub::{Stub, ok};
use aethon_tests::{Server, eventually, home, program, run, run_cli};
use serde_json::{Value, json};

const FAKE: [&str; 2] = ["--set", "model.provider=fake"];

fn cli(home: &Path, arguments: &[&str], input: Option<&str>) -> Output {
    run_cli(home, &[&FAKE[..], arguments].concat(), input)
}

fn out(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn ask_answers_in_process_when_no_daemon_runs() {
    let home = home();
    assert_eq!(out(&cli(home.path(), &["ask", "!say hello"], None)).trim(), "hello");
    let listed = json(&cli(home.path(), &["sessions", "list", "--json"], None));
    assert!(listed.to_string().contains("!say hello"), "it keeps the conversation: {listed}");
    assert_eq!(cli(home.path(), &["ask", "!say again"], None).status.code(), Some(0));
}

#[test]
fn ask_reads_piped_input() {
    let home = home();
    assert_eq!(out(&cli(home.path(), &["ask"], Some("!say from the pipe\n"))).trim(), "from the pipe");
    let echo = ["--set", "model.provider=echo", "ask", "review this:"];
    let told = out(&run_cli(home.path(), &echo, Some("line one\nline two\n")));
    assert!(
        told.contains("review this:") && told.contains("line one") && told.contains("line two"),
        "{told}"
    );
    let nothing = cli(home.path(), &["ask"], Some(" \n"));
    assert!(nothing.status.code().is_some_and(|code| code != 0) && !words(&nothing).is_empty());
}

#[test]
fn ask_takes_unquoted_words_and_can_ignore_standard_input() {
    let home = home();
    let echo = ["--set", "model.provider=echo", "ask", "--no-stdin", "what", "is", "new?"];
    assert_eq!(out(&run_cli(home.path(), &echo, Some("not read"))).trim(), "what is new?");
}

#[test]
fn ask_says_that_it_waits_for_a_silent_pipe() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let home = home();
    let mut command = program("aethon-cli", home.path());
    command.args(FAKE).args(["ask", "!say done"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut notice = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut notice).unwrap();
    assert!(notice.contains("waiting for standard input") && notice.contains("--no-stdin"), "{notice}");
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "done");
}

#[test]
fn ask_fails_when_its_answer_cannot_be_written() {
    let home = home();
    for form in [&["ask", "!say paid for"][..], &["ask", "--json", "!say paid for"]] {
        let mut command = program("aethon-cli", home.path());
        command.args(FAKE).args(form).stdout(std::fs::File::create("/dev/full").unwrap());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{form:?}");
        assert!(words(&output).contains("could not be written"), "{output:?}");
    }
}

#[test]
fn ask_says_that_no_person_could_be_asked() {
    let home = home();
    let server = Server::start_in(home.clone(), &["approval.enabled=true"]);
    let attached = run_cli(home.path(), &["ask", "!tool shell {\"command\":\"touch x\"}"], None);
    drop(server);
    let approvals = ["--set", "approval.enabled=true"];
    let alone =
        cli(home.path(), &[&approvals[..], &["ask", "!tool shell {\"command\":\"touch x\"}"]].concat(), None);
    for output in [attached, alone] {
        let all = format!("{}{}", words(&output), String::from_utf8_lossy(&output.stdout));
        assert!(all.contains("no person could be asked") && !all.contains("the person denied it"), "{all}");
    }
}

#[test]
fn ask_in_json_is_for_programs() {
    let home = home();
    let answer = json(&cli(home.path(), &["ask", "--json", "!say **hello**"], None));
    assert_eq!((&answer["text"], &answer["stop_reason"]), (&json!("**hello**"), &json!("end")));
    assert!(answer["session_id"].is_string() && answer["model"] == "fake", "{answer}");
    let session = answer["session_id"].as_str().unwrap();
    let server = Server::start_in(home.clone(), &[]);
    assert_eq!(answer["turn"], server.messages(session)[0]["turn"], "the turn as the transcript names it");
    let by_daemon = json(&cli(home.path(), &["ask", "--json", "!say hello"], None));
    let session = by_daemon["session_id"].as_str().unwrap();
    assert_eq!(by_daemon["turn"], server.messages(session)[0]["turn"], "and so does the daemon");
    assert!(answer["turn"].is_string() && by_daemon["turn"].is_string(), "{answer} {by_daemon}");
    server.terminate();
    let failed = cli(home.path(), &["--set", "model.max_retries=0", "ask", "--json", "!error auth"], None);
    assert_eq!(failed.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&failed.stdout).expect("JSON all the same");
    assert_eq!(answer["stop_reason"], "error");
    assert!(answer["error"].as_str().is_some_and(|error| error.len() > 20), "{answer}");
}

#[test]
fn failing_ask_reports_it_and_exits_1() {
    let failed = cli(home().path(), &["--set", "model.max_retries=0", "ask", "!error auth"], None);
    assert_eq!(failed.status.code(), Some(1));
    let told = words(&failed) + &String::from_utf8_lossy(&failed.stdout);
    assert!(told.contains("model.api_key"), "{told}");
}

#[test]
fn ask_runs_tools_and_denies_calls_needing_approval() {
    let home = home();
    std::fs::create_dir(home.path().join("workspace")).unwrap();
    std::fs::write(home.path().join("workspace/notes.txt"), "milk and honey").unwrap();
    let read = "!tool file_read {\"path\": \"notes.txt\"}";
    assert!(out(&cli(home.path(), &["ask", read], None)).contains("milk and honey"));
    let asking = [
        "--set",
        "approval.enabled=true",
        "--set",
        "approval.requires_approval=[\"file_read\"]",
        "ask",
        read,
    ];
    assert!(!out(&cli(home.path(), &asking, None)).contains("milk and honey"));
}

#[test]
fn a_question_goes_to_the_daemon_that_runs() {
    let server = Server::start(&[]);
    let home = server.home();
    assert_eq!(out(&cli(home.path(), &["ask", "--session", "terminal", "!say hello"], None)).trim(), "hello");
    let said = server.said("webchat:terminal");
    assert_eq!(said[1].1, "hello", "its session appears in the daemon");
    // Nothing but the home leads there; the model is that of the daemon.
    let told =
        out(&run_cli(home.path(), &["--set", "model.provider=echo", "ask", "!say by the daemon"], None));
    assert_eq!(told.trim(), "by the daemon");
}

#[test]
fn a_daemon_with_a_token_is_reached_with_it() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let home = server.home();
    let refused = cli(home.path(), &["ask", "!say hello"], None);
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused).contains("dashboard.auth_token"), "{}", words(&refused));
    let with_token = ["--set", "dashboard.auth_token=t0ken", "ask", "!say hello"];
    assert_eq!(out(&cli(home.path(), &with_token, None)).trim(), "hello");
}

#[test]
fn connect_names_the_daemon() {
    let server = Server::start(&[]);
    let elsewhere = home();
    let address = format!("http://{}", server.address);
    let arguments = ["--connect", &address, "ask", "--session", "far", "!say from afar"];
    assert_eq!(out(&cli(elsewhere.path(), &arguments, None)).trim(), "from afar");
    assert_eq!(server.said("webchat:far").len(), 2);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [format!("http://{gone}"), "not an address".to_owned()] {
        let output = cli(elsewhere.path(), &["--connect", &address, "ask", "!say x"], None);
        assert!(output.status.code().is_some_and(|code| code != 0), "{address}");
        assert!(words(&output).contains(&address), "{address}: {}", words(&output));
    }
}

#[test]
fn terminal_does_not_wait_for_a_dead_daemon() {
    let server = Server::start(&[]);
    let home = server.kill();
    assert_eq!(out(&cli(home.path(), &["ask", "!say in process"], None)).trim(), "in process");
}

/// The same questions about sessions, to the daemon or to the database.
fn check_sessions(home: &Path) {
    let list = json(&cli(home, &["sessions", "list", "--json"], None));
    assert_eq!(list["count"], 2, "{list}");
    let text = out(&cli(home, &["sessions", "list"], None));
    assert!(text.contains("webchat:one") && text.contains("webchat:two"), "{text}");
    let found = json(&cli(home, &["sessions", "list", "--query", "pomegranate", "--json"], None));
    assert_eq!(found["sessions"][0]["session_id"], "webchat:two", "{found}");
    let shown = json(&cli(home, &["sessions", "show", "webchat:one", "--json"], None));
    assert_eq!(shown["session_id"], "webchat:one", "{shown}");
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2);
    assert!(out(&cli(home, &["sessions", "show", "webchat:one"], None)).contains("apple"));
    let exported = out(&cli(home, &["sessions", "export", "webchat:two"], None));
    assert!(exported.contains("pomegranate"), "{exported}");
    assert!(exported.lines().next().is_some_and(|line| line.len() > 4), "it has its title: {exported}");
    let exported = json(&cli(home, &["sessions", "export", "webchat:two", "--format", "json"], None));
    assert_eq!(exported["messages"].as_array().unwrap().len(), 2);
    let missing = cli(home, &["sessions", "show", "webchat:none"], None);
    assert_eq!(missing.status.code(), Some(1));
    assert!(words(&missing).contains("session"), "{}", words(&missing));
    // There is no person to ask here.
    let refused = cli(home, &["sessions", "rm", "webchat:one"], Some("yes\n"));
    assert_ne!(refused.status.code(), Some(0));
    assert!(words(&refused).contains("--yes"), "{}", words(&refused));
    assert_eq!(cli(home, &["sessions", "rm", "--yes", "webchat:one"], None).status.code(), Some(0));
    assert_eq!(json(&cli(home, &["sessions", "list", "--json"], None))["count"], 1);
    assert_eq!(cli(home, &["sessions", "rm", "--yes", "webchat:one"], None).status.code(), Some(1));
    check_bin(home);
}

/// The bin has `webchat:one`.
fn check_bin(home: &Path) {
    let bin = || json(&cli(home, &["sessions", "bin", "--json"], None));
    assert_eq!(bin()["sessions"][0]["session_id"], "webchat:one");
    assert!(out(&cli(home, &["sessions", "bin"], None)).contains("webchat:one"));
    assert_eq!(out(&cli(home, &["sessions", "restore", "one"], None)).trim(), "restored webchat:one");
    assert!(out(&cli(home, &["sessions", "show", "webchat:one"], None)).contains("apple"));
    let missing = cli(home, &["sessions", "restore", "one"], None);
    assert_eq!(missing.status.code(), Some(1));
    assert!(words(&missing).contains("sessions bin"), "{}", words(&missing));
    assert!(cli(home, &["sessions", "rm", "--yes", "one"], None).status.success());
    assert!(cli(home, &["sessions", "rm", "--yes", "--now", "one"], None).status.success(), "from the bin");
    assert_eq!(bin()["count"], 0);
    assert_ne!(
        cli(home, &["sessions", "bin", "--empty"], None).status.code(),
        Some(0),
        "nobody confirmed it"
    );
    assert!(out(&cli(home, &["sessions", "bin", "--empty", "--yes"], None)).contains("deleted for good: 0"));
}

fn two_sessions(server: &Server) {
    server.chat("one").say("m1", "!say apple");
    server.chat("two").say("m1", "!say pomegranate");
}

#[test]
fn sessions_beside_the_daemon() {
    let server = Server::start(&[]);
    two_sessions(&server);
    check_sessions(server.home().path());
    assert_eq!(server.get("/api/sessions").json()["count"], 1);
}

#[test]
fn sessions_without_a_daemon() {
    let server = Server::start(&[]);
    two_sessions(&server);
    let home = server.home();
    server.terminate();
    check_sessions(home.path());
}

#[test]
fn exports_with_and_without_a_daemon_are_the_same() {
    let server = Server::start(&[]);
    two_sessions(&server);
    let home = server.home();
    let export = || {
        let mut export =
            json(&cli(home.path(), &["sessions", "export", "webchat:two", "--format", "json"], None));
        // Whether it runs is known to the daemon alone.
        if let Some(fields) = export.as_object_mut() {
            fields.remove("busy");
        }
        export
    };
    let beside = export();
    server.terminate();
    assert_eq!(export(), beside);
}

/// The messages of a document, without the HTML that goes to pages only.
fn bare(document: &Value) -> Vec<Value> {
    let mut messages = document["messages"].as_array().expect("messages").clone();
    let blocks = messages.iter_mut().flat_map(|message| message["content"].as_array_mut().expect("blocks"));
    blocks.filter_map(Value::as_object_mut).for_each(|block| drop(block.remove("html")));
    messages
}

#[test]
fn message_has_the_same_form_on_every_surface() {
    let server = Server::start(&[]);
    let mut live = server.socket("/ws/dashboard");
    live.send_json(&json!({"channel": "subscribe", "topics": ["messages"]}));
    assert!(live.has_handled_all());
    server.chat("two").say("m1", "!tool current_time {}\n!then\n!say **done**");

    let api = bare(&server.get("/api/sessions/webchat:two").json());
    assert!(api.len() >= 4, "question, call, result, answer: {api:?}");
    let told: Vec<Value> = api.iter().map(|_| live.frame()["data"]["message"].clone()).collect();
    assert_eq!(told, api, "the dashboard");
    let export = server.get("/api/sessions/webchat:two/export?format=json").json();
    assert_eq!(bare(&export), api, "the export");
    let home = server.home();
    let terminal = |arguments: &[&str]| bare(&json(&cli(home.path(), arguments, None)));
    let ways =
        [&["sessions", "show", "two", "--json"][..], &["sessions", "export", "two", "--format", "json"]];
    for way in ways {
        assert_eq!(terminal(way), api, "{way:?} through the daemon");
    }
    let markdown = |server: Option<&Server>| match server {
        Some(server) => server.get("/api/sessions/webchat:two/export?format=markdown").text(),
        None => out(&cli(home.path(), &["sessions", "export", "two"], None)),
    };
    let file = markdown(Some(&server));
    assert_eq!(markdown(None), file);
    server.terminate();
    for way in ways {
        assert_eq!(terminal(way), api, "{way:?} without a daemon");
    }
    assert_eq!(markdown(None), file, "without a daemon");
    assert_eq!(out(&cli(home.path(), &["sessions", "show", "two"], None)), file, "to be read");
}

#[test]
fn an_effort_is_asked_for_by_its_word() {
    let home = home();
    for (effort, code) in [("none", 0), ("high", 0), ("extreme", 2)] {
        let output = cli(home.path(), &["ask", "--effort", effort, "!say fine"], None);
        assert_eq!(output.status.code(), Some(code), "{effort}: {}", words(&output));
    }
    let lines = "/effort\n/effort high\n/effort much\n/new other\n/effort\n!say fine\n/new default\n/effort\n/effort default\n";
    let told = out(&cli(home.path(), &["chat"], Some(lines)));
    let told: Vec<&str> = told.lines().filter(|line| line.contains("effort")).collect();
    let wrong = "\"much\" is not an effort: use none, low, medium, high or default";
    assert_eq!(
        told,
        ["effort default", "effort high", wrong, "effort default", "effort high", "effort default"]
    );
}

#[test]
fn piped_model_output_has_no_terminal_controls() {
    let said = json!({
        "id": "c", "object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": {"content": "\ta\u{1b}[2J\u{7}b"}, "finish_reason": "stop"}],
    });
    let stub = Stub::start(vec![ok("text/event-stream", &format!("data: {said}\n\ndata: [DONE]\n\n"))]);
    let home = home();
    let mut command = program("aethon-cli", home.path());
    let host = format!("model.host=\"http://{}/v1\"", stub.address);
    for setting in ["model.provider=openai", "model.model_id=m", "model.api_key=k", host.as_str()] {
        command.args(["--set", setting]);
    }
    let output = run(command.args(["ask", "hello"]), None);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told, "\ta‹U+001B›[2J‹U+0007›b\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn away_from_a_terminal_there_is_no_colour() {
    let home = home();
    for no_color in [None, Some("1")] {
        for arguments in [
            &["ask", "# Title\n**bold** `code`\n\n```rust\nfn main() {}\n```"][..],
            &["doctor"],
            &["sessions", "list"],
        ] {
            let mut command = program("aethon-cli", home.path());
            command.args(["--set", "model.provider=echo"]).args(arguments);
            if let Some(value) = no_color {
                command.env("NO_COLOR", value);
            }
            let output = run(&mut command, None);
            for stream in [&output.stdout, &output.stderr] {
                assert!(!stream.contains(&0x1b), "{arguments:?}: {}", String::from_utf8_lossy(stream));
            }
        }
    }
}

#[test]
fn wrong_arguments_exit_2() {
    for arguments in [
        &["no-such-command"][..],
        &["ask", "--no-such-flag"],
        &["config"],
        &["config", "get"],
        &["completions", "tcl"],
        &["sessions", "export", "x", "--format", "pdf"],
    ] {
        let output = run_cli(home().path(), arguments, None);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!words(&output).is_empty());
    }
}

/// Asks for a long reply, sends a signal when the question is stored, and returns the output.
fn interrupted(home: &Path, session: &str, signal: rustix::process::Signal) -> String {
    use std::process::Stdio;
    let mut command = program("aethon-cli", home);
    command.args(["--set", "model.provider=fake", "ask", "-s", session, "!stream 400 20"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the question is stored", || {
        let shown = run_cli(home, &["sessions", "show", &format!("webchat:{session}")], None);
        shown.status.success().then_some(())
    });
    std::thread::sleep(std::time::Duration::from_millis(600));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn interrupted_question_keeps_the_partial_reply() {
    use rustix::process::Signal;
    let home = home();
    for (session, signal) in [("int", Signal::INT), ("term", Signal::TERM)] {
        let said = interrupted(home.path(), session, signal);
        assert!(said.starts_with("token1 ") && said.trim_end().ends_with("Stopped."), "{said}");
        let shown = run_cli(home.path(), &["sessions", "show", &format!("webchat:{session}")], None);
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("token1 ") && shown.contains("Stopped"), "{shown}");
    }
}

#[test]
fn interrupting_a_question_stops_it_on_the_daemon() {
    let server = Server::start(&["model.provider=fake"]);
    let home = server.home();
    let said = interrupted(home.path(), "far", rustix::process::Signal::INT);
    assert!(said.trim_end().ends_with("Stopped."), "{said}");
    assert_eq!(server.get("/api/sessions/webchat:far").json()["busy"], false);
}

#[test]
fn check_validates_the_configuration_that_would_run() {
    let home = home();
    let check = |set: &[&str]| {
        let sets = set.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> = ["--check"].into_iter().chain(sets).collect();
        String::from_utf8(aethon_tests::run_server(home.path(), &arguments).stdout).unwrap()
    };
    let usual = check(&["model.provider=fake"]);
    assert!(usual.contains("webhooks  on") && usual.contains("dashboard on"), "{usual}");
    let none = check(&["channels.webchat.enabled=false"]);
    assert!(none.contains("listener  none") && none.contains("webhooks  off"), "{none}");
    assert!(none.contains("dashboard off"), "{none}");
    let open = check(&["channels.webchat.host=0.0.0.0", "dashboard.auth_token=a long enough token"]);
    assert!(open.contains("webhooks  off"), "{open}");
    assert!(check(&["channels.webchat.host=::1"]).contains("http://[::1]:18790"));
    for (arguments, status) in [
        (["config", "check", "--set", "channels.webchat.host=0.0.0.0"], 2),
        (["config", "check", "--set", "model.provider=fake"], 0),
        (["ask", "x", "--connect", "ftp://x"], 2),
    ] {
        assert_eq!(run_cli(home.path(), &arguments, None).status.code(), Some(status), "{arguments:?}");
    }
}
