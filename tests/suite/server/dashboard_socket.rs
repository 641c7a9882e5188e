//! `/ws/dashboard`: its frames and topics (docs/contract/sockets.md).

use std::time::Duration;

use aethon_tests::{Request, Server, Socket, eventually};
use serde_json::{Value, json};
use tungstenite::Message;

fn subscribed(server: &Server, topics: &[&str]) -> Socket {
    let mut socket = server.socket("/ws/dashboard");
    socket.send_json(&json!({"channel": "subscribe", "topics": topics}));
    assert!(socket.has_handled_all());
    socket
}

/// The next frame of this topic; others are passed over.
fn next(socket: &mut Socket, topic: &str) -> Value {
    loop {
        let frame = socket.frame();
        if frame["channel"] == topic {
            return frame;
        }
    }
}

#[test]
fn dashboard_without_a_subscription_gets_every_topic() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/dashboard");
    for strange in
        [Message::Binary(vec![0].into()), Message::text("garbage"), Message::text(r#"{"channel":"bogus"}"#)]
    {
        assert!(socket.send_message(strange));
    }
    assert!(socket.has_handled_all(), "what is not understood is ignored");
    server.chat("default").say("m1", "!say hello");
    let mut seen: Vec<String> = Vec::new();
    let mut last = 0;
    while !(seen.iter().any(|topic| topic == "messages") && seen.iter().any(|topic| topic == "sessions")) {
        let frame = socket.frame();
        assert!(frame["data"].is_object(), "{frame}");
        let seq = frame["seq"].as_u64().expect("a number");
        assert!(seq > last, "numbers increase");
        last = seq;
        seen.push(frame["channel"].as_str().unwrap().to_owned());
    }
}

#[test]
fn a_subscription_brings_its_topics_only() {
    let server = Server::start(&[]);
    let mut socket = subscribed(&server, &["messages"]);
    server.chat("default").say("m1", "!say hello");
    let mut texts = Vec::new();
    for _ in 0..2 {
        let frame = socket.frame();
        assert_eq!(frame["channel"], "messages");
        assert!(frame.to_string().contains("webchat:default"), "it says whose it is: {frame}");
        texts.push(frame.to_string());
    }
    assert!(texts[0].contains("!say hello") && texts[1].contains("hello"), "{texts:?}");
    assert!(socket.is_silent(Duration::from_millis(300)));
    // A later subscription replaces the first; none at all silences it.
    socket.send_json(&json!({"channel": "subscribe", "topics": []}));
    assert!(socket.has_handled_all());
    server.chat("default").say("m2", "!say again");
    assert!(socket.is_silent(Duration::from_millis(300)));
}

#[test]
fn dashboard_receives_session_changes() {
    let server = Server::start(&[]);
    let mut socket = subscribed(&server, &["sessions"]);
    server.chat("notes").say("m1", "!say hello");
    assert!(next(&mut socket, "sessions").to_string().contains("webchat:notes"));
    server.send(&aethon_tests::Request::new("DELETE", "/api/sessions/webchat:notes"));
    eventually("the removal is told", || {
        next(&mut socket, "sessions").to_string().contains("deleted").then_some(())
    });
}

#[test]
fn dashboard_receives_approvals_and_their_decisions() {
    let server = Server::start(&["approval.enabled=true", "approval.requires_approval=[\"current_time\"]"]);
    let mut socket = subscribed(&server, &["approvals"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!tool current_time {}"}));
    let opened = socket.frame()["data"].clone();
    assert_eq!(opened["tool"], "current_time");
    let id = opened["id"].as_str().unwrap();
    assert_eq!(server.post(&format!("/api/approvals/{id}"), &json!({"decision": "deny"})).status / 100, 2);
    let settled = socket.frame()["data"].clone();
    assert_eq!(
        (&settled["id"], &settled["decision"], &settled["reason"]),
        (&json!(id), &json!("deny"), &json!("user"))
    );
}

#[test]
fn dashboard_receives_log_records() {
    let server = Server::start(&["logging.level=debug"]);
    let mut socket = subscribed(&server, &["logs"]);
    server.chat("default").say("m1", "!say hello");
    let record = socket.frame()["data"].clone();
    assert!(
        record["level"].is_string() && record["message"].is_string() && record["time"].is_string(),
        "{record}"
    );
}

#[test]
fn unknown_dashboard_frame_is_ignored() {
    let server = Server::start(&[]);
    let mut socket = subscribed(&server, &["messages"]);
    for frame in [
        "",
        "x",
        "[]",
        "7",
        "{}",
        r#"{"channel": "subscribe"}"#,
        r#"{"channel": "subscribe", "topics": "messages"}"#,
        r#"{"channel": "subscribe", "topics": [7]}"#,
        r#"{"channel": "shout", "topics": []}"#,
    ] {
        socket.send(frame);
    }
    assert!(socket.is_silent(Duration::from_millis(300)));
    server.chat("default").say("m1", "!say hello");
    assert_eq!(socket.frame()["channel"], "messages", "the subscription before still holds");
}

#[test]
fn lagging_reader_gets_the_number_of_missed_events() {
    let server = Server::start(&[]);
    let mut slow = Socket::narrow(server.address, "/ws/dashboard", &[]);
    slow.send_json(&json!({"channel": "subscribe", "topics": ["messages"]}));
    assert!(slow.has_handled_all());
    let mut chat = server.chat("default");
    let before = server.resident();
    // Texts fill the system's buffers, and then the events of many turns fill the queue.
    let text = "x".repeat(5000);
    for number in 0..400 {
        chat.say(&format!("m{number}"), &format!("!say {text}"));
    }
    assert!(server.resident() < before + 96 * 1024);
    let mut frames = 0_u64;
    let missed = loop {
        let frame = slow.frame();
        frames += 1;
        if frame["channel"] == "lagged" {
            break frame["data"]["missed"].as_u64().expect("a number");
        }
    };
    assert!(missed > 0 && frames < 1600, "{frames} frames, {missed} missed");
    chat.say("last", "!say the last one");
    eventually("it goes on with the newest", || {
        slow.frame().to_string().contains("the last one").then_some(())
    });
}

#[test]
fn dashboard_receives_a_rename() {
    let server = Server::start(&[]);
    server.post("/webhook/garden", &json!({"text": "!say x"}));
    let mut socket = subscribed(&server, &["sessions"]);
    let patch =
        Request::new("PATCH", "/api/sessions/webhook:garden").header("Content-Type", "application/json");
    assert_eq!(server.send(&patch.body(r#"{"title": "New"}"#)).status, 200);
    let frame = socket.frame();
    assert_eq!((&frame["channel"], &frame["data"]["change"]), (&json!("sessions"), &json!("updated")));
    assert_eq!(frame["data"]["session_id"], "webhook:garden");
}
