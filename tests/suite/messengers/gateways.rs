//! The owner on Slack and on Discord (docs/channels.md), over real sockets.

use aethon_tests::gateways::{Gateway, Kind, TOKENS};
use aethon_tests::{Server, eventually, home, run_cli};

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
        let told = server.get("/api/outbox?state=waiting").json();
        let is_there = gateway.chat().iter().any(|posted| posted.text() == "third");
        (is_there && told["deliveries"].as_array().unwrap().is_empty()).then_some(())
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
