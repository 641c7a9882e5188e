//! `ask --events`: the frames of a turn as lines of JSON, for programs.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;

use aethon_tests::{Server, eventually, home, program};
use serde_json::Value;
use tempfile::TempDir;

fn ask(home: &Path, arguments: &[&str]) -> Command {
    let mut command = program("aethon-cli", home);
    command.args(["--set", "model.provider=fake", "--set", "model.max_retries=0", "ask", "--events"]);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The lines of standard output, each of which must be a frame.
fn frames(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

/// Runs a check in this process, and with a daemon. Both must speak the same words.
fn both_ways(check: impl Fn(Arc<TempDir>)) {
    check(home());
    let server = Server::start(&["model.max_retries=0", "approval.enabled=true"]);
    check(server.home());
}

#[test]
fn frames_of_a_turn_are_those_of_the_socket_both_ways() {
    both_ways(|home| {
        let output =
            ask(home.path(), &["-s", "events", "!stream 3 5\n!tool current_time {}"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let frames = frames(&output);
        assert_eq!((&frames[0]["type"], &frames[0]["session"]), (&"ready".into(), &"events".into()));
        assert!(frames[0]["version"].is_string() && frames[1]["id"].is_string(), "{frames:?}");
        let all = kinds(&frames);
        for kind in ["ack", "delta", "tool", "usage"] {
            assert!(all.contains(&kind), "{kind}: {all:?}");
        }
        assert!(all.starts_with(&["ready", "ack"]) && all.ends_with(&["done"]), "{all:?}");
        assert!(!all.contains(&"blocks"), "a program reads Markdown: {all:?}");
        let numbers: Vec<u64> = frames[1..].iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
        assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
        let turn = &frames[1]["turn"];
        assert!(turn.is_string() && frames[1..].iter().all(|frame| &frame["turn"] == turn), "{frames:?}");
        let states: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "tool").collect();
        assert_eq!((&states[0]["state"], &states[1]["state"]), (&"running".into(), &"ok".into()));
        let done = frames.last().unwrap();
        assert_eq!((&done["stop_reason"], &done["html"]), (&"end".into(), &"".into()), "{done}");
        assert!(done["text"].as_str().unwrap().contains("token3"), "{done}");
    });
}

#[test]
fn denied_approval_is_in_the_stream_and_in_words() {
    let home = home();
    let _server = Server::start_in(home.clone(), &["approval.enabled=true"]);
    let output = ask(home.path(), &["!tool shell {\"command\":\"touch x\"}"]).output().unwrap();
    let frames = frames(&output);
    let all = kinds(&frames);
    let place = |kind: &str| all.iter().position(|found| *found == kind).unwrap_or_else(|| panic!("{all:?}"));
    assert!(place("approval") < place("approval_done"), "{all:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no person could be asked"), "{output:?}");
}

#[test]
fn schema_and_failures_have_the_status_of_ask() {
    both_ways(|home| {
        let failed = ask(home.path(), &["!error auth"]).output().unwrap();
        assert_eq!(failed.status.code(), Some(1));
        let told = frames(&failed);
        assert!(kinds(&told).ends_with(&["error", "done"]), "{told:?}");
        assert_eq!(told.last().unwrap()["stop_reason"], "error");

        let schema = home.path().join("schema.json");
        std::fs::write(
            &schema,
            r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#,
        )
        .unwrap();
        let schema = schema.to_str().unwrap();
        let fits = ask(home.path(), &["--schema", schema, "!say {\"a\": 1}"]).output().unwrap();
        assert_eq!(fits.status.code(), Some(0), "{fits:?}");
        let text = frames(&fits).last().unwrap()["text"].as_str().unwrap().to_owned();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["a"], 1);

        let unknown = ask(home.path(), &["--model", "no such model", "!say x"]).output().unwrap();
        assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");
        assert!(kinds(&frames(&unknown)).ends_with(&["error"]), "{unknown:?}");
    });
    let both = ask(home().path(), &["--json", "x"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2), "one form at a time: {both:?}");
}

fn streaming(home: &TempDir, session: &str) -> (Child, BufReader<ChildStdout>) {
    let mut command = ask(home.path(), &["-s", session, "!stream 4000 10"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // Each frame arrives while the turn goes on.
    while !line.contains("token3") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the stream ended");
    }
    (child, lines)
}

#[test]
fn interrupted_stream_ends_with_done_and_130() {
    both_ways(|home| {
        let (child, mut lines) = streaming(&home, "stopped");
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
        let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
        assert_eq!((&last["type"], &last["stop_reason"]), (&"done".into(), &"stopped".into()), "{last}");
    });
}

#[test]
fn turn_that_no_program_reads_any_more_is_stopped() {
    let server = Server::start(&[]);
    let (child, lines) = streaming(&server.home(), "unread");
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"), "{output:?}");
    eventually("the turn is stopped", || {
        let messages = server.messages("webchat:unread");
        (messages.last()?["stop_reason"] == "stopped").then_some(())
    });
}
