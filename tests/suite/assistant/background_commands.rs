//! Commands that run on in the background (docs/tools.md, "In the background"): they outlive their turn, are read, told of and
//! stopped, and end with their conversation and with the program.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aethon_tests::socket::of_type;
use aethon_tests::{Request, Server, Socket, Terminal, eventually, home, program, run_cli};
use serde_json::{Value, json};

/// Waits until the file `go` is there.
const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.02; done";
const SLEEPERS: &str =
    "echo $$ >> pids; sleep 60 & echo $! >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 60' & wait";
const COMMANDS: &str = "/api/sessions/webchat:default/commands";

/// A message that starts a command in the background.
fn starting(command: &str) -> String {
    format!("!tool shell {}", json!({"command": command, "background": true}))
}

fn looking(input: &Value) -> String {
    format!("!tool background_commands {input}")
}

/// Sends a message with one call and returns its last frame.
fn called(chat: &mut Socket, id: &str, text: &str) -> Value {
    let frames = chat.say(id, text);
    (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
}

fn output(tool: &Value) -> &str {
    tool["output"].as_str().unwrap_or_else(|| panic!("no output: {tool}"))
}

fn workspace(server: &Server) -> PathBuf {
    server.home().path().join("workspace")
}

/// Whether a process runs; one that only waits to be reaped does not.
fn runs(pid: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !status.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

/// The numbers in a file of the workspace, once there are so many.
fn numbers(workspace: &Path, count: usize) -> Vec<u32> {
    eventually("the processes have started", || {
        let text = std::fs::read_to_string(workspace.join("pids")).ok()?;
        let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        (numbers.len() >= count).then_some(numbers)
    })
}

fn wait_until_gone(pids: &[u32]) {
    let begun = Instant::now();
    eventually("the processes are gone", || pids.iter().all(|pid| !runs(*pid)).then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(3), "took {:?}", begun.elapsed());
}

/// Starts processes of every kind in the background, and returns their numbers.
fn sleepers(server: &Server, chat: &mut Socket, id: &str) -> Vec<u32> {
    let tool = called(chat, id, &starting(SLEEPERS));
    assert!(tool["state"] == "ok" && output(&tool).contains("runs in the background"), "{tool}");
    let pids = numbers(&workspace(server), 3);
    assert!(pids.iter().all(|pid| runs(*pid)), "the turn is over, and they run on: {pids:?}");
    pids
}

/// Waits until a command of the default conversation has this state, and returns it.
fn state_of(server: &Server, number: u32, state: &str) -> Value {
    eventually(state, || {
        let list = server.get(COMMANDS).json();
        let found = list["commands"].as_array()?.iter().find(|command| command["number"] == number)?;
        (found["state"] == state).then(|| found.clone())
    })
}

/// The notes about ended commands in the default conversation.
fn notes(server: &Server) -> Vec<String> {
    let messages = server.messages("webchat:default");
    let blocks =
        messages.iter().flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let notes = blocks.filter(|block| block["type"] == "context" && block["source"] == "commands");
    notes.map(|block| block["text"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn command_outlives_its_turn_and_is_read_and_stopped() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let begun = Instant::now();
    let tool =
        called(&mut chat, "m1", &starting(&format!("echo $$ > pids; {UNTIL_GO}; echo later; sleep 60")));
    assert_eq!(tool["state"], "ok", "{tool}");
    assert!(output(&tool).contains("[command 1 runs in the background"), "{tool}");
    assert!(begun.elapsed() < Duration::from_secs(20), "it waits for no end");
    let pids = numbers(&workspace(&server), 1);
    let read = called(&mut chat, "m2", &looking(&json!({"action": "read", "id": 1})));
    assert!(output(&read).starts_with("[no new output]\n[command 1 runs"), "{read}");
    std::fs::write(workspace(&server).join("go"), "").unwrap();
    let read = called(&mut chat, "m3", &looking(&json!({"action": "read", "id": 1, "wait_seconds": 30})));
    assert!(output(&read).starts_with("later\n[command 1 runs"), "{read}");
    let list = called(&mut chat, "m4", &looking(&json!({"action": "list"})));
    assert!(output(&list).contains("command 1 (echo $$") && output(&list).ends_with(": running"), "{list}");
    let stopped = called(&mut chat, "m5", &looking(&json!({"action": "stop", "id": 1})));
    assert!(output(&stopped).contains("[command 1 was stopped by the assistant after"), "{stopped}");
    wait_until_gone(&pids);
    let missing = called(&mut chat, "m6", &looking(&json!({"action": "read", "id": 7})));
    assert!(missing["state"] == "error" && output(&missing).contains("no command 7"), "{missing}");
    assert_eq!(notes(&server), Vec::<String>::new(), "the model knew of the end");
}

#[test]
fn early_end_is_reported_like_that_of_a_call() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let tool = called(&mut chat, "m1", &starting("echo no such thing >&2; exit 4"));
    let expected = "no such thing\n[exit status 4 after 0 s; command 1 has ended]";
    assert_eq!(output(&tool), expected);
    let tool = called(
        &mut chat,
        "m2",
        &format!("!tool shell {}", json!({"command": "echo x", "background": false})),
    );
    assert_eq!(output(&tool), "x\n[exit status 0]");
    let limited = json!({"command": "sleep 60", "background": true, "timeout_seconds": 2});
    called(&mut chat, "m3", &format!("!tool shell {limited}"));
    let ended = state_of(&server, 2, "expired");
    assert!(ended["outcome"].as_str().unwrap().starts_with("was ended after 2 s"), "{ended}");
}

#[test]
fn next_turn_is_told_of_an_end_once() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    called(&mut chat, "m1", &starting(&format!("{UNTIL_GO}; printf over; exit 3")));
    chat.say("m2", "!say it runs");
    assert_eq!(notes(&server), Vec::<String>::new());
    std::fs::write(workspace(&server).join("go"), "").unwrap();
    let ended = state_of(&server, 1, "exited");
    assert_eq!(ended["exit_status"], 3, "{ended}");
    assert!(ended["ended_at"].is_string() && ended["output"] == "over\n", "{ended}");
    assert_eq!(notes(&server), Vec::<String>::new(), "no turn begins by itself");
    chat.say("m3", "!say and now");
    chat.say("m4", "!say once more");
    let notes = notes(&server);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("command 1 (until [ -e go ]") && notes[0].contains("ended with status 3 after")
    );
}

#[test]
fn stopping_a_turn_leaves_its_commands_running() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let text = format!("{}\n!then\n!sleep 60000\n!say late", starting("echo $$ > pids; sleep 60"));
    chat.send_json(&json!({"type": "message", "id": "m1", "text": text}));
    let pids = numbers(&workspace(&server), 1);
    eventually("the call is over", || {
        let frame = chat.frame();
        (frame["type"] == "tool" && frame["state"] == "ok").then_some(())
    });
    chat.send_json(&json!({"type": "stop"}));
    assert_eq!(chat.until("done").pop().unwrap()["stop_reason"], "stopped");
    assert!(
        called(&mut chat, "m2", &looking(&json!({"action": "list"})))["output"]
            .as_str()
            .unwrap()
            .ends_with("running")
    );
    assert!(runs(pids[0]));
}

#[test]
fn conversation_has_a_limit_of_running_commands() {
    let server = Server::start(&["tools.max_shells=1"]);
    let mut chat = server.chat("default");
    let four = [starting("sleep 60").as_str(); 4].join("\n");
    let frames = chat.say("m1", &four);
    let ended = of_type(&frames, "tool").into_iter().filter(|frame| frame["state"] != "running");
    assert!(ended.clone().count() == 4 && ended.clone().all(|frame| frame["state"] == "ok"), "{frames:?}");
    let refused = called(&mut chat, "m2", &starting("sleep 60"));
    assert_eq!(refused["state"], "error", "{refused}");
    assert!(output(&refused).contains("4 commands of this conversation run in the background"), "{refused}");
    let plain = called(&mut chat, "m3", &format!("!tool shell {}", json!({"command": "echo there is room"})));
    assert!(output(&plain).starts_with("there is room"), "they take no slots: {plain}");
    assert_eq!(server.post(&format!("{COMMANDS}/2/stop"), &json!({})).json()["stopped"], true);
    let fifth = called(&mut chat, "m4", &starting("sleep 60"));
    assert!(output(&fifth).contains("[command 5 runs"), "{fifth}");
}

#[test]
fn end_of_the_program_ends_its_commands() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let pids = sleepers(&server, &mut chat, "m1");
    drop(chat);
    let begun = Instant::now();
    let home = server.home();
    assert!(server.terminate().success());
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
    wait_until_gone(&pids);
    std::fs::remove_file(home.path().join("workspace/pids")).unwrap();

    let server = Server::start_in(home, &[]);
    let stored = server.get("/api/audit?action=command").json();
    let outcome = stored["audit"][0]["outcome"].as_str().unwrap().to_owned();
    assert!(outcome.starts_with("was stopped by the end of the program"), "{stored}");
    assert_eq!(server.get(COMMANDS).json()["commands"], json!([]), "a command does not come back");
    let mut chat = server.chat("default");
    let missing = called(&mut chat, "m2", &looking(&json!({"action": "read", "id": 1})));
    assert!(output(&missing).contains("ends with the program that started it"), "{missing}");
    let pids = sleepers(&server, &mut chat, "m3");
    server.kill();
    wait_until_gone(&pids);
}

#[test]
fn command_ends_with_its_conversation() {
    let server = Server::start(&[]);
    for end in ["reset", "delete"] {
        let mut chat = server.chat("default");
        let pids = sleepers(&server, &mut chat, end);
        let answer = match end {
            "reset" => server.post("/api/sessions/webchat:default/reset", &json!({})),
            _ => server.send(&Request::new("DELETE", "/api/sessions/webchat:default")),
        };
        assert_eq!(answer.status, 200, "{}", answer.text());
        wait_until_gone(&pids);
        std::fs::remove_file(workspace(&server).join("pids")).unwrap();
        let expected = if end == "reset" { 200 } else { 404 };
        assert_eq!(server.get(COMMANDS).status, expected, "{end}");
    }
}

#[test]
fn owner_lists_and_stops_commands_and_the_audit_has_them() {
    let server = Server::start(&["dashboard.auth_token=canary-5ecret-value"]);
    let with = |request: Request| server.send(&request.bearer("canary-5ecret-value"));
    let mut chat = Socket::open(
        server.address,
        "/ws/chat?token=canary-5ecret-value",
        &[("Sec-WebSocket-Protocol", "aethon.chat.v1")],
    );
    let command = "echo secret canary-5ecret-value; echo $$ > pids; sleep 60";
    called(&mut chat, "m1", &starting(command));
    let pids = numbers(&workspace(&server), 1);
    let list = with(Request::get(COMMANDS)).json();
    assert_eq!(list["session_id"], "webchat:default");
    let listed = &list["commands"][0];
    assert_eq!((&listed["number"], &listed["state"]), (&json!(1), &json!("running")), "{list}");
    assert_eq!(listed["output"], "secret ***\n", "secrets are masked");
    assert_eq!(listed["command"], "echo secret ***; echo $$ > pids; sleep 60");
    let stop = |number: &str| with(Request::post(&format!("{COMMANDS}/{number}/stop"), &json!({})));
    let stopped = stop("1").json();
    assert_eq!(
        (&stopped["stopped"], &stopped["command"]["state"]),
        (&json!(true), &json!("stopped")),
        "{stopped}"
    );
    wait_until_gone(&pids);
    assert_eq!(stop("1").json()["stopped"], false, "it had ended");
    for number in ["2", "x", "-1"] {
        let answer = stop(number);
        assert_eq!(answer.status, 404, "{number}: {}", answer.text());
    }
    assert_eq!(with(Request::get("/api/sessions/webchat:none/commands")).status, 404);
    let rows = eventually("the end is in the audit", || {
        let rows = with(Request::get("/api/audit?action=command")).json()["audit"].as_array()?.clone();
        (rows.len() == 2).then_some(rows)
    });
    let told: Vec<_> =
        rows.iter().map(|row| (row["outcome"].as_str().unwrap(), row["by"].as_str().unwrap())).collect();
    assert!(told[0].0.starts_with("was stopped by the owner after") && told[0].1 == "the owner", "{told:?}");
    assert_eq!(told[1], ("started", "the assistant"));
    assert_eq!(rows[1]["detail"], "command 1 in the background: echo secret ***; echo $$ > pids; sleep 60");
    chat.say("m2", "!say and now");
    let messages = with(Request::get("/api/sessions/webchat:default")).json()["messages"].to_string();
    assert!(messages.contains("was stopped by the owner after"), "{messages}");
}

#[test]
fn no_part_of_a_secret_at_the_cut_of_a_row_is_stored() {
    const SECRET: &str = "SuperSecretHook-9876543210zyxw";
    let server = Server::start(&[&format!("webhook.secret={SECRET}")]);
    let mut chat = server.chat("default");
    // A row has 4,000 characters; most of the secret is before that, and its last characters are behind it.
    let command = |first: &str| format!("{first} {}{SECRET}", "x".repeat(3_973 - 31));
    called(&mut chat, "m1", &starting(&command(":")));
    let refused = called(&mut chat, "m2", &starting(&command("sudo")));
    assert_eq!(refused["state"], "denied", "{refused}");
    let rows = eventually("the end is in the audit", || {
        let rows = server.get("/api/audit").text();
        (rows.matches("in the background: ").count() == 2).then_some(rows)
    });
    assert!(rows.contains("sudo xxx") && !rows.contains("SuperSecret"), "{rows}");
    assert!(rows.contains("x***"), "it is masked: {rows}");
}

#[test]
fn approval_shows_that_a_command_runs_on() {
    let server = Server::start(&["approval.enabled=true"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": starting("echo ran > ran")}));
    let question = chat.until("approval").pop().unwrap();
    assert_eq!(question["summary"], "run in the background: echo ran > ran");
    assert_eq!(question["input"], json!({"command": "echo ran > ran", "background": true}));
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "deny"}));
    let frames = chat.until("done");
    assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], "denied");
    let blocked = called(&mut chat, "m2", &starting("sudo ls"));
    assert_eq!(blocked["state"], "denied", "the rules hold: {blocked}");
    assert!(!workspace(&server).join("ran").exists());
    assert_eq!(server.get(COMMANDS).json()["commands"], json!([]));
}

#[test]
fn strangers_turn_starts_reads_and_stops_no_command() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    called(&mut chat, "m1", &starting("sleep 60"));
    for (text, words) in [
        (starting("touch ran; sleep 60"), "the owner's own words"),
        (looking(&json!({"action": "list"})), "the owner's own words"),
    ] {
        let answer = server.post("/webhook/trigger", &json!({"text": text}));
        let told = answer.json()["response"].as_str().unwrap().to_owned();
        assert!(told.contains(words), "{told}");
    }
    assert!(!workspace(&server).join("ran").exists());
}

#[test]
fn run_of_a_job_leaves_no_command_running() {
    let server = Server::start(&[]);
    let job = json!({"job_id": "tea", "cron": "@yearly", "prompt": starting("touch ran; sleep 60")});
    assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    assert_eq!(server.post("/api/scheduler/jobs/tea/run", &json!({})).status, 201);
    let run = eventually("the run is over", || {
        let runs = server.get("/api/scheduler/jobs/tea/runs").json();
        (runs["runs"][0]["status"] == "ok").then(|| runs["runs"][0]["run_id"].as_str().unwrap().to_owned())
    });
    let session = format!("schedule:tea:{run}");
    let said = json!(server.messages(&session)).to_string();
    assert!(said.contains("over with its turn and no one comes back to it"), "{said}");
    assert_eq!(server.get(&format!("/api/sessions/{session}/commands")).json()["commands"], json!([]));
    assert!(!workspace(&server).join("ran").exists());
}

#[test]
fn reading_waits_while_a_line_is_incomplete() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    called(&mut chat, "m1", &starting("while :; do printf .; sleep 0.1; done"));
    for id in ["m2", "m3"] {
        let read = called(&mut chat, id, &looking(&json!({"action": "read", "id": 1, "wait_seconds": 1})));
        assert!(output(&read).starts_with("...."), "{read}");
    }
}

#[test]
fn watching_client_gets_the_list_when_it_changes() {
    let server = Server::start(&[]);
    let mut other = server.chat("default");
    called(&mut other, "m1", &starting(&format!("echo first; {UNTIL_GO}; echo second; sleep 60")));
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "watch"}));
    // A state may be told twice, and between two states there may be others.
    let mut told = |wanted: &dyn Fn(&Value) -> bool| {
        eventually("the state is told", || {
            let frame = chat.until("commands").pop()?;
            assert_eq!(frame["session_id"], "webchat:default");
            assert!(frame.get("seq").is_none() && frame.get("turn").is_none(), "{frame}");
            wanted(&frame["commands"]).then_some(())
        });
    };
    // What runs already is told at once.
    told(&|commands| commands[0]["output"] == "first\n");
    std::fs::write(workspace(&server).join("go"), "").unwrap();
    told(&|commands| commands[0]["output"] == "first\nsecond\n");
    server.post(&format!("{COMMANDS}/1/stop"), &json!({}));
    told(&|commands| commands[0]["state"] == "stopped");
    // Who watches nothing gets no frame that it does not know.
    assert!(of_type(&other.say("m2", "!say x"), "commands").is_empty());
    let again = server.send(&Request::new("DELETE", "/api/sessions/webchat:default"));
    assert_eq!(again.status, 200);
    told(&|commands| *commands == json!([]));
}

/// Chats in a terminal until it is ready for a line.
fn terminal(home: &Path, settings: &[&str]) -> Terminal {
    let mut command = program("aethon-cli", home);
    for setting in settings {
        command.args(["--set", setting]);
    }
    command.arg("chat");
    let mut terminal = Terminal::start_sized(&mut command, 110, 50);
    terminal.wait_for_prompt();
    terminal
}

#[test]
fn command_ends_when_another_program_deletes_its_conversation() {
    let home = home();
    let mut terminal = terminal(home.path(), &["model.provider=fake"]);
    terminal.enter(&starting(SLEEPERS));
    terminal.wait_for_prompt();
    let pids = numbers(&home.path().join("workspace"), 3);
    assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    let listed = run_cli(home.path(), &["sessions", "list", "--json"], None);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("a list");
    let id = listed["sessions"][0]["session_id"].as_str().expect("an id");
    let removed = run_cli(home.path(), &["sessions", "rm", id, "--now", "--yes"], None);
    assert!(removed.status.success(), "{removed:?}");
    eventually("the processes are gone", || pids.iter().all(|pid| !runs(*pid)).then_some(()));
    terminal.enter("/quit");
    assert!(terminal.end().success());
}

/// Starts, lists, completes and stops a command in the terminal, and starts another one.
fn use_terminal(terminal: &mut Terminal) {
    let mut say = |text: &str| {
        terminal.enter(text);
        terminal.wait_for_prompt()
    };
    assert!(say("/commands").contains("no command runs in the background of this conversation"));
    say(&starting("echo ready; sleep 60"));
    let screen = say("/commands");
    assert!(
        screen.contains("  1  echo ready; sleep 60  running") && screen.contains("     ready"),
        "{screen}"
    );
    assert!(say("/commands stop").contains("name the command to stop"));
    assert!(say("/commands stop 9").contains("no command 9 in the background"));
    terminal.press("/commands st\t");
    terminal.wait_for_screen("the number is completed", |screen| {
        screen.trim_end().ends_with("> /commands stop 1")
    });
    terminal.press("\r");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("was stopped by the owner after"), "{screen}");
}

#[test]
fn terminal_lists_and_stops_commands_of_the_server() {
    let server = Server::start(&[]);
    let mut terminal = terminal(server.home().path(), &[]);
    use_terminal(&mut terminal);
    terminal.enter("/quit");
    assert!(terminal.end().success());
}

#[test]
fn terminal_without_a_server_takes_its_commands_along() {
    let home = home();
    let mut terminal = terminal(home.path(), &["model.provider=fake"]);
    use_terminal(&mut terminal);
    terminal.enter(&starting(SLEEPERS));
    terminal.wait_for_prompt();
    let pids = numbers(&home.path().join("workspace"), 3);
    assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    terminal.enter("/quit");
    assert!(terminal.end().success());
    wait_until_gone(&pids);
}
