//! The terminal beside a daemon that comes and goes. Issue 7, items 16 and 29.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aethon_tests::{Server, Terminal, eventually, home, program, run_cli};
use tempfile::TempDir;

fn chat(home: &Arc<TempDir>) -> Terminal {
    let mut terminal = Terminal::start(&mut program("aethon-cli", home.path()));
    terminal.wait_for_screen("a daemon's chat", |screen| screen.contains("by aethon-server at"));
    terminal.wait_for_prompt();
    terminal
}

#[test]
fn typed_line_survives_a_restart_and_missed_turns_are_shown() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server.home());
    terminal.press("!say still here, !half");
    terminal.wait_for_screen("what is typed", |screen| screen.ends_with("!half"));
    let home = server.home();
    server.terminate();
    let server = Server::start_in(home, &[]);
    server.chat("default").say("m1", "!say while you were away");
    let screen = terminal.wait_for_screen("what happened", |screen| screen.contains("┆ while you were away"));
    assert_eq!(screen.matches("connected to aethon-server again").count(), 1, "{screen}");
    assert_eq!(screen.matches("while you were away").count(), 2, "the message and its answer: {screen}");
    terminal.wait_for_screen("the line as it was", |screen| screen.ends_with("> !say still here, !half"));
    terminal.press("\r");
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("\nstill here, !half\n"), "{screen}");
}

#[test]
fn answer_resumes_after_a_kill_and_runs_once() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server.home());
    terminal.enter("!stream 60 30\u{1b}\r!say the end of it");
    terminal.wait_for_screen("a part of the answer", |screen| screen.contains("token5"));
    let server = Server::start_in(server.kill(), &[]);
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("the end of it\n"), "{screen}");
    assert_eq!(screen.matches("token60").count(), 1, "what was drawn before is taken back: {screen}");
    assert_eq!(server.said("webchat:default").len(), 2);
}

#[test]
fn answer_missed_while_disconnected_is_shown() {
    // The polite stop lets the turn end; the terminal hears of it from the next server.
    let server = Server::start(&[]);
    let mut terminal = chat(&server.home());
    terminal.enter("!sleep 300\u{1b}\r!say it was said");
    eventually("the message is taken", || {
        (server.get("/api/sessions/webchat:default").status == 200).then_some(())
    });
    let home = server.home();
    server.terminate();
    let server = Server::start_in(home, &[]);
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("\nit was said\n"), "{screen}");
    assert_eq!(server.said("webchat:default").len(), 2);
}

#[test]
fn message_typed_while_the_daemon_is_down_runs_after_its_return() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server.home());
    let home = server.kill();
    terminal.enter("!say said into the void");
    terminal.wait_for_screen("that it is away", |screen| screen.contains("aethon-server is away"));
    let server = Server::start_in(home, &[]);
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("\nsaid into the void\n"), "{screen}");
    assert_eq!(server.said("webchat:default").len(), 2);
    terminal.press("/quit\r");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn in_process_chat_moves_to_a_daemon_started_later() {
    let home = home();
    let mut command = program("aethon-cli", home.path());
    let mut terminal = Terminal::start(command.args(["--set", "model.provider=fake"]));
    terminal.wait_for_screen("an assistant of its own", |screen| screen.contains("in this process"));
    terminal.wait_for_prompt();
    terminal.enter("!say by the guest");
    terminal.wait_for_prompt();
    let server = Server::start_in(home, &[]);
    for answer in ["by the daemon", "and again"] {
        terminal.enter(&format!("!say {answer}"));
        let screen = terminal.wait_for_prompt();
        assert!(screen.contains(&format!("\n{answer}\n")), "{screen}");
        assert_eq!(screen.matches("aethon-server runs on this home now").count(), 1, "{screen}");
    }
    let said = server.said("webchat:default");
    let answers: Vec<&str> = said.iter().skip(1).step_by(2).map(|(_, text)| text.as_str()).collect();
    assert_eq!(answers, ["by the guest", "by the daemon", "and again"]);
    // Turns of the daemon have an id of their sender, and outlive the terminal.
    let home = server.kill();
    let _server = Server::start_in(home, &[]);
    terminal
        .wait_for_screen("the daemon's return", |screen| screen.contains("connected to aethon-server again"));
}

#[test]
fn ask_waits_for_a_starting_daemon() {
    // The address is that of a daemon that was killed; the next one has the home, and does not listen yet.
    let home = Server::start(&[]).kill();
    let alive = std::fs::File::options().write(true).open(home.path().join("run/server.alive")).unwrap();
    alive.lock().unwrap();
    let mut command = program("aethon-cli", home.path());
    command.args(["--set", "model.provider=fake", "ask", "!say it waited"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut warning = String::new();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    errors.read_line(&mut warning).unwrap();
    assert!(warning.contains("has no effect: aethon-server at"), "it has seen the daemon: {warning}");
    drop(alive);
    let _server = Server::start_in(home, &[]);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "it waited\n");
}

#[test]
fn chat_can_be_left_while_the_daemon_is_down() {
    let server = Server::start(&[]);
    let mut terminal = chat(&server.home());
    let _home = server.kill();
    terminal.enter("!say never");
    terminal.wait_for_screen("that it is away", |screen| screen.contains("aethon-server is away"));
    terminal.interrupt();
    terminal.wait_for_prompt();
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

/// Starts the daemon and stops it again, politely and otherwise, until told to end. Returns how often.
fn restarting(home: Arc<TempDir>, is_over: Arc<AtomicBool>) -> usize {
    let mut ends = 0;
    while !is_over.load(Ordering::Relaxed) {
        let server = Server::start_in(home.clone(), &[]);
        ends += 1;
        if ends % 2 == 0 {
            server.kill();
        } else {
            server.terminate();
        }
    }
    ends
}

#[test]
fn commands_wait_for_a_restarting_daemon() {
    const ROUNDS: usize = 12;
    let home = Server::start(&[]).kill();
    let is_over = Arc::new(AtomicBool::new(false));
    let restarting = std::thread::spawn({
        let (home, is_over) = (home.clone(), is_over.clone());
        move || restarting(home, is_over)
    });
    let mut failures = Vec::new();
    let mut run = |arguments: &[&str]| {
        let output = run_cli(home.path(), arguments, None);
        if !output.status.success() {
            failures.push((format!("{arguments:?}"), String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        output.stdout
    };
    for round in 0..ROUNDS {
        run(&["sessions", "list"]);
        run(&["memory", "add", &format!("fact number {round}")]);
        run(&["jobs", "list"]);
        run(&["channels", "list"]);
    }
    let memories = run(&["memory", "list", "--json"]);
    is_over.store(true, Ordering::Relaxed);
    let ends = restarting.join().unwrap();
    assert!(failures.is_empty(), "{failures:?}");
    assert!(ends > 2, "it was hardly restarted");
    let memories: serde_json::Value = serde_json::from_slice(&memories).unwrap();
    assert_eq!(memories["count"], ROUNDS, "each once: {memories}");
}

#[test]
fn output_is_the_same_attached_and_in_process() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say hello");
    let recording = "webchat_nope-20260101T000000Z.zip";
    let commands = [
        &["sessions", "list"][..],
        &["sessions", "show", "nope"],
        &["sessions", "export", "nope"],
        &["sessions", "rm", "nope", "--yes"],
        &["memory", "list"],
        &["memory", "search", "tea"],
        &["memory", "show", "99"],
        &["memory", "rm", "99", "--yes"],
        &["jobs", "list"],
        &["jobs", "runs", "nope"],
        &["jobs", "run", "nope"],
        &["jobs", "rm", "nope", "--yes"],
        &["recordings", "list"],
        &["recordings", "show", recording],
        &["recordings", "verify", recording],
        &["recordings", "resume", recording],
        &["tasks", "list"],
        &["tasks", "show", "nope"],
        &["tasks", "cancel", "nope"],
        &["outbox", "list"],
        &["outbox", "retry", "99"],
        &["outbox", "rm", "99", "--yes"],
        &["sop", "list"],
        &["sop", "show", "nope"],
        &["sop", "runs"],
        &["usage"],
        &["audit"],
    ];
    let home = server.home();
    let answers = || {
        commands.map(|arguments| {
            let output = run_cli(home.path(), arguments, None);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (arguments, output.status.code(), text(&output.stdout), text(&output.stderr))
        })
    };
    let attached = answers();
    server.terminate();
    for (attached, alone) in attached.into_iter().zip(answers()) {
        assert_eq!(attached, alone);
    }
}

#[test]
fn connect_works_or_is_refused_by_the_name_of_the_command() {
    let home = home();
    let local = [
        (&["init"][..], "init"),
        (&["doctor"], "doctor"),
        (&["mcp"], "mcp"),
        (&["model", "list"], "model"),
        (&["config", "set", "budget.daily_usd", "1"], "config"),
        (&["secrets", "list"], "secrets"),
        (&["channels", "pairings"], "channels"),
        (&["sop", "check"], "sop check"),
        (&["backup"], "backup"),
        (&["restore", "x"], "restore"),
        (&["upgrade"], "upgrade"),
        (&["completions", "bash"], "completions"),
    ];
    for (arguments, name) in local {
        let arguments = [&["--connect", "http://127.0.0.1:1"], arguments].concat();
        let output = run_cli(home.path(), &arguments, Some(""));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(&format!("`{name}` works on the files of a home")), "{said}");
    }
    assert!(!home.path().join("config.toml").exists(), "nothing was changed here");
    for arguments in [&["sessions", "list"][..], &["memory", "list"], &["jobs", "list"], &["usage"]] {
        let arguments = [&["--connect", "http://127.0.0.1:1"], arguments].concat();
        let output = run_cli(home.path(), &arguments, None);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("correct --connect"), "{said}");
    }
}
