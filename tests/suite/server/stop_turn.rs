//! Stopping a turn: the frame `stop` (docs/contract/sockets.md), and a session that would otherwise be stuck.

use std::time::{Duration, Instant};

use aethon_tests::socket::{of_type, spoken};
use aethon_tests::{Server, Socket, eventually};
use serde_json::{Value, json};

fn send(chat: &mut Socket, id: &str, text: &str) -> Value {
    chat.send_json(&json!({"type": "message", "id": id, "text": text}));
    chat.until("ack").pop().unwrap()
}

/// Stops and returns the frames up to `done`, which must come within a second.
fn stopped(chat: &mut Socket, stop: &Value) -> Vec<Value> {
    let begun = Instant::now();
    chat.send_json(stop);
    let frames = chat.until("done");
    assert!(begun.elapsed() < Duration::from_millis(1000), "took {:?}", begun.elapsed());
    assert_eq!(frames.last().unwrap()["stop_reason"], "stopped");
    frames
}

/// Whether the session answers again.
fn assert_free(server: &Server, chat: &mut Socket, id: &str) {
    assert_eq!(chat.say(id, "!say free").last().unwrap()["text"], "free");
    assert_eq!(server.get("/api/sessions/webchat:default").json()["busy"], false);
}

#[test]
fn stop_while_streaming_keeps_the_partial_reply() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let ack = send(&mut chat, "m1", "!stream 5000 10");
    let mut frames = chat.until("delta");
    frames.extend(stopped(&mut chat, &json!({"type": "stop", "turn": ack["turn"]})));
    let done = frames.last().unwrap();
    assert_eq!(done["turn"], ack["turn"]);
    let text = done["text"].as_str().unwrap();
    assert!(text.starts_with("token1 ") && text.starts_with(spoken(&frames).trim_end()), "{text}");
    let said = server.said("webchat:default");
    assert!(said[1].0 == "assistant" && said[1].1.starts_with("token1"), "{said:?}");
    assert_free(&server, &mut chat, "m2");
}

#[test]
fn stop_while_the_model_is_silent() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let ack = send(&mut chat, "m1", "!sleep 600000");
    stopped(&mut chat, &json!({"type": "stop", "turn": ack["turn"]}));
    assert_free(&server, &mut chat, "m2");
}

#[test]
fn stop_while_waiting_for_a_retry() {
    let server = Server::start(&["model.max_retries=20"]);
    let mut chat = server.chat("default");
    let ack = send(&mut chat, "m1", "!error overloaded 50");
    stopped(&mut chat, &json!({"type": "stop", "turn": ack["turn"]}));
    assert_free(&server, &mut chat, "m2");
}

#[test]
fn stop_between_tool_calls() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let text = format!("!tool current_time {{}}\n{}", "!then\n!sleep 20\n!tool current_time {}\n".repeat(30));
    send(&mut chat, "m1", &text);
    chat.until("tool");
    stopped(&mut chat, &json!({"type": "stop"}));
    assert_well_formed(&server);
    assert_free(&server, &mut chat, "m2");
}

#[test]
fn stop_while_waiting_for_an_approval() {
    let server = Server::start(&["approval.enabled=true", "approval.requires_approval=[\"current_time\"]"]);
    let mut chat = server.chat("default");
    send(&mut chat, "m1", "!tool current_time {}");
    chat.until("approval");
    let frames = stopped(&mut chat, &json!({"type": "stop"}));
    let settled = of_type(&frames, "approval_done")[0];
    assert_eq!((&settled["decision"], &settled["reason"]), (&json!("deny"), &json!("stopped")));
    assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]));
    assert_well_formed(&server);
    assert_free(&server, &mut chat, "m2");
}

/// Every tool call has a result right after it.
fn assert_well_formed(server: &Server) {
    let messages = eventually("the turn is stored", || {
        let session = server.get("/api/sessions/webchat:default").json();
        (session["busy"] == false).then(|| server.messages("webchat:default"))
    });
    let blocks = |message: &Value, kind: &str, key: &str| -> Vec<Value> {
        let blocks = message["content"].as_array().unwrap().iter().filter(|block| block["type"] == kind);
        blocks.map(|block| block[key].clone()).collect()
    };
    for (number, message) in messages.iter().enumerate() {
        let calls = blocks(message, "tool_call", "id");
        if !calls.is_empty() {
            let results = messages.get(number + 1).map(|next| blocks(next, "tool_result", "call"));
            assert_eq!(results, Some(calls), "{messages:?}");
        }
    }
}

#[test]
fn queued_turn_can_be_stopped_alone() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let first = send(&mut chat, "m1", "!stream 60 10\n!say first");
    let second = send(&mut chat, "m2", "!say second");
    let third = send(&mut chat, "m3", "!say third");
    chat.send_json(&json!({"type": "stop", "turn": second["turn"]}));
    let mut done = Vec::new();
    while done.len() < 3 {
        done.push(chat.until("done").pop().unwrap());
    }
    let of = |turn: &Value| done.iter().find(|done| done["turn"] == *turn).expect("each turn ends");
    assert_eq!(of(&second["turn"])["stop_reason"], "stopped");
    assert_eq!(of(&first["turn"])["stop_reason"], "end");
    assert!(of(&first["turn"])["text"].as_str().unwrap().ends_with("first"));
    assert_eq!(of(&third["turn"])["text"], "third");
}

#[test]
fn stop_without_a_turn_stops_the_whole_session() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let mut other = server.chat("other");
    send(&mut other, "m1", "!stream 60 10\n!say other");
    for number in 0..3 {
        send(&mut chat, &format!("m{number}"), "!sleep 600000");
    }
    let begun = Instant::now();
    chat.send_json(&json!({"type": "stop"}));
    for _ in 0..3 {
        assert_eq!(chat.until("done").pop().unwrap()["stop_reason"], "stopped");
    }
    assert!(begun.elapsed() < Duration::from_millis(1000), "took {:?}", begun.elapsed());
    assert_eq!(other.until("done").pop().unwrap()["stop_reason"], "end", "another session goes on");
    assert_free(&server, &mut chat, "m9");
}

#[test]
fn stop_of_an_idle_session_does_nothing() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let done = chat.say("m1", "!say hello").pop().unwrap();
    chat.send_json(&json!({"type": "stop"}));
    chat.send_json(&json!({"type": "stop", "turn": done["turn"]}));
    chat.send_json(&json!({"type": "stop", "turn": "no-such-turn"}));
    assert_free(&server, &mut chat, "m2");
    assert_eq!(server.said("webchat:default")[1].1, "hello");
}

#[test]
fn a_stopped_turn_stays_stopped_after_a_restart() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    send(&mut chat, "m1", "!stream 5000 10");
    chat.until("delta");
    stopped(&mut chat, &json!({"type": "stop"}));
    let before = server.said("webchat:default");
    let server = Server::start_in(server.kill(), &[]);
    assert_eq!(server.said("webchat:default"), before);
    assert_eq!(server.get("/api/sessions/webchat:default").json()["busy"], false);
}

#[test]
fn a_turn_ends_at_its_limits_with_the_reason() {
    let server = Server::start(&["agent.max_iterations=5", "agent.turn_timeout_seconds=1"]);
    let mut chat = server.chat("default");
    let limit = |chat: &mut Socket, id: &str, text: &str| {
        let frames = chat.say(id, text);
        let done = frames.last().unwrap();
        assert_eq!(done["stop_reason"], "limit", "{text}: {done}");
        let told = format!(
            "{} {}",
            done["text"],
            of_type(&frames, "error").iter().map(|e| e.to_string()).collect::<String>()
        );
        assert!(told.len() > 40, "the reason is said: {told}");
    };
    limit(&mut chat, "loop", "!loop current_time {}");
    limit(&mut chat, "same", "!loop file_read {\"path\": \"none\"}");
    let many: String =
        (0..9).map(|number| format!("!tool file_read {{\"path\": \"f{number}\"}}\n!then\n")).collect();
    limit(&mut chat, "many", &format!("{many}!say never"));
    limit(&mut chat, "time", "!sleep 60000");
    limit(&mut chat, "stream", "!stream 1000 10");
    assert_well_formed(&server);
    assert_free(&server, &mut chat, "m9");
}
