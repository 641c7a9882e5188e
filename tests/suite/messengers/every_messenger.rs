//! Rules of every messenger of the built server (docs/channels.md): pairing switched off, the state of a channel, commands and
//! presses while a turn runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_tests::telegram::{PostedMessage, Telegram};
use aethon_tests::{Server, eventually, home, run_cli};
use serde_json::{Value, json};
use tempfile::TempDir;

const OWNER: i64 = 42;

fn start(telegram: &Telegram, home: &Arc<TempDir>, more: &[&str]) -> Server {
    let settings = telegram.settings();
    let allowed = "security.allowed_senders.telegram=[42]";
    let settings: Vec<&str> =
        settings.iter().map(String::as_str).chain([allowed]).chain(more.iter().copied()).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    server
}

/// The row of a channel.
fn row(channels: &Value, name: &str) -> Value {
    let rows = channels["channels"].as_array().expect("channels");
    rows.iter().find(|row| row["name"] == name).expect("a row").clone()
}

#[test]
fn unredeemable_pairing_codes_are_not_issued() {
    let (telegram, home) = (Telegram::start(), home());
    for pairing in ["off", "request"] {
        let setting = format!("channels.telegram.pairing={pairing}");
        let told = run_cli(home.path(), &["channels", "pair", "telegram", "--set", &setting], None);
        let (out, error) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        assert!(!told.status.success() && out.is_empty(), "{pairing}: {out}");
        assert!(error.contains("channels.telegram.pairing"), "{error}");
        let server = start(&telegram, &home, &[&setting]);
        let answer = server.post("/api/pairings", &json!({"channel": "telegram"}));
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(answer.text().contains("channels.telegram.pairing"), "{}", answer.text());
        // Another messenger's key is its own.
        assert_eq!(server.post("/api/pairings", &json!({"channel": "matrix"})).status, 200);
        assert_eq!(server.post("/api/pairings", &json!({"channel": "nothing"})).status, 404);
    }
}

#[test]
fn channel_without_a_sign_in_has_no_account() {
    let (telegram, home) = (Telegram::start(), home());
    let list = || -> Value {
        let list = run_cli(home.path(), &["channels", "list", "--json"], None);
        serde_json::from_slice(&list.stdout).expect("JSON")
    };
    let configured = list();
    let server = start(&telegram, &home, &[]);
    let running = list();
    assert_eq!(running, server.get("/api/channels").json());
    for (name, whole) in [("telegram", &configured), ("matrix", &configured), ("matrix", &running)] {
        assert_eq!(row(whole, name)["account"], Value::Null, "{name} {whole}");
    }
    assert_eq!(row(&running, "telegram")["account"], "@aethon_test_bot");
    let fields = |whole: &Value| -> Vec<String> {
        row(whole, "matrix").as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(fields(&configured), fields(&running), "one form for both");
}

#[test]
fn stop_is_answered_within_two_seconds_while_a_turn_runs() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &[]);
    telegram.say(OWNER, "!sleep 600000\n!say never");
    eventually("the turn runs", || (server.get("/api/sessions/telegram:42").status == 200).then_some(()));
    let asked = Instant::now();
    telegram.say(OWNER, "/stop");
    telegram.await_message(OWNER, "the answer", |posted| posted.text() == "Stopped.");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    // The same in the middle of a reply.
    telegram.say(OWNER, "!stream 2000 100\n!say never");
    telegram.await_message(OWNER, "the reply grows", |posted| posted.text().ends_with('…'));
    let asked = Instant::now();
    telegram.say(OWNER, "/stop");
    eventually("the second answer", || {
        let count = telegram.chat(OWNER).iter().filter(|posted| posted.text() == "Stopped.").count();
        (count == 2).then_some(())
    });
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    telegram.say(OWNER, "!say and on");
    telegram.await_message(OWNER, "the next is answered", |posted| posted.text() == "and on");
    assert!(!telegram.chat(OWNER).iter().any(|posted| posted.text().contains("never")));
}

/// Asks for a command that needs approval, and waits for the question.
fn question(telegram: &Telegram, command: &str) -> PostedMessage {
    telegram.say(OWNER, &format!("!tool shell {{\"command\":\"{command}\"}}"));
    let is_it = |posted: &PostedMessage| posted.buttons.len() == 2 && posted.texts[0].contains(command);
    telegram.await_message(OWNER, "the question", is_it)
}

fn assert_settled_notice(telegram: &Telegram, count: usize) {
    eventually("the person is told", || {
        let told = telegram.answers().iter().filter(|told| told.contains("settled already")).count();
        (told == count).then_some(())
    });
}

#[test]
fn late_button_press_is_rejected_with_a_notice() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &["approval.enabled=true", "approval.timeout_seconds=1"]);
    let question = question(&telegram, "touch late-canary");
    let outcome = "No answer in time: denied";
    let settled = telegram.await_message(OWNER, "the outcome", |posted| posted.text().ends_with(outcome));
    assert!(settled.id == question.id && settled.buttons.is_empty(), "{settled:?}");
    telegram.press(OWNER, &question, &question.buttons[0]);
    assert_settled_notice(&telegram, 1);
    telegram.say(OWNER, "!say after it");
    telegram.await_message(OWNER, "the next is answered", |posted| posted.text() == "after it");
    assert!(!home.path().join("workspace/late-canary").exists(), "nothing was done");
    let shown = telegram.chat(OWNER).into_iter().find(|posted| posted.id == question.id).unwrap();
    assert!(shown.text().ends_with(outcome), "{shown:?}");
    drop(server);
}

#[test]
fn button_press_for_changed_arguments_is_rejected_with_a_notice() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &["approval.enabled=true"]);
    let first = question(&telegram, "touch as-shown");
    let pending = server.get("/api/approvals").json();
    let id = pending["approvals"][0]["id"].as_str().expect("an id").to_owned();
    let changed = json!({"decision": "approve", "input": {"command": "touch as-changed"}});
    let answer = server.post(&format!("/api/approvals/{id}"), &changed);
    assert_eq!(answer.status, 200, "{}", answer.text());
    // The button was made for what stood above it.
    telegram.press(OWNER, &first, &first.buttons[0]);
    assert_settled_notice(&telegram, 1);
    let workspace = home.path().join("workspace");
    eventually("what was approved is done", || workspace.join("as-changed").exists().then_some(()));
    // One question's button does not answer the next one.
    let second = question(&telegram, "touch as-next");
    telegram.press(OWNER, &second, &first.buttons[0]);
    assert_settled_notice(&telegram, 2);
    assert_eq!(server.get("/api/approvals").json()["approvals"].as_array().unwrap().len(), 1);
    telegram.press(OWNER, &second, &second.buttons[1]);
    eventually("the second is denied", || {
        let pending = server.get("/api/approvals").json();
        pending["approvals"].as_array().unwrap().is_empty().then_some(())
    });
    assert!(!workspace.join("as-shown").exists() && !workspace.join("as-next").exists());
}
