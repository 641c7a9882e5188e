//! The owner on Slack and on Discord (docs/channels.md), over real sockets.

use aethon_tests::gateways::{Gateway, Kind, TOKENS};
use aethon_tests::{Server, eventually, home, run_cli};
use serde_json::json;

#[test]
fn slack_is_answered_once_through_a_crash_and_approves_by_buttons() {
    story(Kind::Slack, "slack", "slack:D1");
}

#[test]
fn discord_is_answered_once_through_a_crash_and_approves_by_buttons() {
    story(Kind::Discord, "discord", "discord:70");
}

fn story(kind: Kind, name: &str, session: &str) {
    let (gateway, home) = (Gateway::start(kind), home());
    let mut settings = gateway.settings();
    settings.push("approval.enabled=true".into());
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    let row = |server: &Server| server.feature(&format!("channel.{name}"));
    eventually("it runs", || row(&server)["detail"].as_str().unwrap().contains("aethon").then_some(()));
    gateway.say("!stream 40 100\n!say The **end**.");
    gateway.await_message("the reply grows", |posted| posted.texts.len() > 1);
    // In the middle of the reply; the next message comes while the server is down.
    let home = server.kill();
    gateway.say("!say second");
    let server = Server::start_in(home, &settings);
    gateway
        .await_message("the first is whole", |posted| posted.text().replace('*', "").ends_with("The end."));
    gateway.await_message("the second is answered", |posted| posted.text() == "second");
    gateway.lose_answer();
    gateway.say("!say third");
    eventually("the third is delivered", || {
        let is_there = gateway.chat().iter().any(|posted| posted.text() == "third");
        (is_there && server.has_delivered()).then_some(())
    });
    gateway.say("!tool shell {\"command\":\"echo pressed\"}");
    let question = gateway.await_message("the question", |posted| posted.buttons.len() == 2);
    assert!(question.text().contains("echo pressed"), "{question:?}");
    gateway.press(&question, &question.buttons[0]);
    gateway.await_answer("Approved.");
    let settled = gateway.await_message("the outcome", |posted| posted.text().contains("Approved"));
    assert!(settled.id == question.id, "{settled:?}");
    gateway.press(&question, &question.buttons[1]);
    gateway.await_answer("settled already");
    gateway
        .await_message("the reply", |posted| posted.text().contains("pressed") && posted.id != question.id);
    let shown = gateway.chat();
    assert_eq!(shown.len(), 5, "each once: {shown:?}");
    assert!(gateway.identified() <= 1, "the session goes on over the restart");
    assert_eq!(server.said(session).iter().filter(|(_, text)| text == "second").count(), 1);
    let mut test = vec!["channels", "test", name];
    test.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    assert_eq!(run_cli(server.home().path(), &test, None).status.code(), Some(0));
    let home = server.home();
    server.signal(rustix::process::Signal::TERM);
    let (_, errors) = server.wait();
    for token in TOKENS {
        let found = std::process::Command::new("grep")
            .args(["-rl", token])
            .arg(home.path())
            .output()
            .expect("grep runs");
        assert!(
            found.stdout.is_empty() && !errors.contains(token),
            "{}",
            String::from_utf8_lossy(&found.stdout)
        );
    }
}

#[test]
fn slack_thread_continues_without_a_mention() {
    let (gateway, home) = (Gateway::start(Kind::Slack), home());
    let settings = gateway.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home.clone(), &settings);
    let runs = |server: &Server| {
        eventually("it runs", || {
            server.feature("channel.slack")["detail"].as_str().unwrap().contains("aethon").then_some(())
        });
    };
    runs(&server);
    let now = aethon_tests::time::since_1970().as_secs();
    let root = format!("{now}.000001");
    gateway.bring(1, &json!({"channel": "C1", "text": "<@UBOT> plan a trip", "ts": root}));
    let begun = format!("slack:C1:{root}");
    let has_said = |server: &Server, session: &str, words: &str| {
        eventually(words, || {
            let is_there = server.get(&format!("/api/sessions/{session}")).status == 200;
            (is_there && server.said(session).iter().any(|(_, text)| text.contains(words))).then_some(())
        });
    };
    has_said(&server, &begun, "plan a trip");
    let home = server.kill();
    let server = Server::start_in(home, &settings);
    runs(&server);
    gateway.bring(
        2,
        &json!({"channel": "C1", "text": "by train", "thread_ts": root, "parent_user_id": "UOWNER"}),
    );
    has_said(&server, &begun, "by train");
    let theirs = format!("{}.000003", now - 60);
    gateway.put(json!({"user": "UEVE", "text": "see <https://example.org/x|this>", "ts": theirs, "thread_ts": theirs}));
    gateway.put(
        json!({"user": "UEVE", "text": "or not", "ts": format!("{}.000004", now - 50), "thread_ts": theirs}),
    );
    gateway.bring(5, &json!({"channel": "C1", "text": "<@UBOT> what do you think?", "thread_ts": theirs, "parent_user_id": "UEVE"}));
    let asked = format!("slack:C1:{theirs}");
    has_said(&server, &asked, "what do you think?");
    has_said(&server, &asked, "this (https://example.org/x)");
    has_said(&server, &asked, "UEVE: or not");
    gateway.bring(6, &json!({"channel": "D1", "text": "in a thread", "thread_ts": root}));
    has_said(&server, "slack:D1", "in a thread");
    eventually("each is answered in its thread", || {
        let threads = gateway.threads();
        let count = |thread: &str| threads.iter().filter(|known| *known == thread).count();
        (count(&root) >= 3 && count(&theirs) >= 1).then_some(())
    });
}
