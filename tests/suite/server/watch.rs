//! Watching the list of conversations: `watch`, `read` and the frames `session` (docs/contract/sockets.md).

use std::time::{Duration, Instant};

use aethon_tests::server::run_cli;
use aethon_tests::{Request, Server, Socket};
use serde_json::{Value, json};

/// A socket that watches, past its first frames.
fn watcher(server: &Server) -> Socket {
    let mut socket = server.chat("watcher");
    socket.send_json(&json!({"type": "watch"}));
    socket.settle();
    socket
}

/// Waits for a frame about a conversation that is as wanted, which must come within a second of what caused it.
fn told(socket: &mut Socket, session: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let frame = socket.frame();
        if frame["type"] == "session" && frame["session_id"] == session && wanted(&frame) {
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
            return frame;
        }
    }
}

fn listed(server: &Server, session: &str) -> Value {
    let list = server.get("/api/sessions").json();
    let found = list["sessions"].as_array().unwrap().iter().find(|entry| entry["session_id"] == session);
    found.cloned().unwrap_or_else(|| panic!("{session} is not listed: {list}"))
}

#[test]
fn watcher_sees_a_turn_of_another_conversation_begin_and_end() {
    let server = Server::start(&[]);
    let mut watcher = watcher(&server);
    let mut other = server.chat("other");
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 30 20"}));
    let begun = told(&mut watcher, "webchat:other", |frame| frame["busy"] == true);
    assert_eq!((&begun["title"], &begun["waiting"]), (&json!("!stream 30 20"), &json!(0)));
    assert!(begun.get("seq").is_none() && begun.get("turn").is_none(), "{begun}");
    let ended = told(&mut watcher, "webchat:other", |frame| frame["busy"] == false);
    assert_eq!((&ended["unread"], &ended["model"]), (&json!(true), &Value::Null));
    assert_eq!(listed(&server, "webchat:other")["updated_at"], ended["updated_at"]);
}

#[test]
fn conversation_is_read_on_every_device_once_one_has_shown_it() {
    let server = Server::start(&[]);
    let (mut first, mut second) = (watcher(&server), watcher(&server));
    server.chat("other").say("m1", "!say news");
    for watcher in [&mut first, &mut second] {
        told(watcher, "webchat:other", |frame| frame["unread"] == true && frame["busy"] == false);
    }
    assert_eq!(listed(&server, "webchat:other")["unread"], true);
    first.send_json(&json!({"type": "read", "session": "other"}));
    for watcher in [&mut first, &mut second] {
        told(watcher, "webchat:other", |frame| frame["unread"] == false);
    }
    assert_eq!(listed(&server, "webchat:other")["unread"], false);
    // What is read stays read after a restart.
    let home = server.home();
    assert!(server.terminate().success());
    let server = Server::start_in(home, &[]);
    assert_eq!(listed(&server, "webchat:other")["unread"], false);
}

#[test]
fn watcher_hears_of_questions_names_and_removals() {
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"current_time\"]"];
    let server = Server::start(&settings);
    let mut watcher = watcher(&server);
    let mut other = server.chat("other");
    other.send_json(&json!({"type": "message", "id": "m1", "text": "!tool current_time {}"}));
    told(&mut watcher, "webchat:other", |frame| frame["waiting"] == 1);
    assert_eq!(listed(&server, "webchat:other")["waiting"], 1);
    let asked = other.until("approval");
    let id = &asked.last().unwrap()["id"];
    other.send_json(&json!({"type": "approval", "id": id, "decision": "deny"}));
    told(&mut watcher, "webchat:other", |frame| frame["waiting"] == 0 && frame["busy"] == false);

    let path = "/api/sessions/webchat%3Aother";
    let patch = Request::new("PATCH", path)
        .header("Content-Type", "application/json")
        .body(json!({"title": "Mine", "pinned": true, "folder": "work"}).to_string());
    assert_eq!(server.send(&patch).status, 200);
    let renamed = told(&mut watcher, "webchat:other", |frame| frame["title"] == "Mine");
    assert_eq!((&renamed["pinned"], &renamed["folder"]), (&json!(true), &json!("work")));
    assert_eq!(server.post(&format!("{path}/reset"), &json!({})).status, 200);
    told(&mut watcher, "webchat:other", |frame| frame["unread"] == false);
    assert_eq!(server.send(&Request::new("DELETE", path)).status, 200);
    told(&mut watcher, "webchat:other", |frame| frame["removed"] == true);
    assert_eq!(server.post(&format!("{path}/restore"), &json!({})).status, 200);
    let back = told(&mut watcher, "webchat:other", |frame| frame["removed"] != true);
    assert_eq!(
        (&back["title"], &back["folder"]),
        (&json!("Mine"), &json!("work")),
        "it is back from the bin"
    );
}

#[test]
fn watcher_sees_what_webhooks_and_other_programs_do() {
    let server = Server::start(&["webhook.enabled=true"]);
    let mut watcher = watcher(&server);
    let hook = server.post("/webhook/trigger", &json!({"text": "!say hooked", "session": "door"}));
    assert_eq!(hook.status, 200, "{hook:?}");
    told(&mut watcher, "webhook:trigger:door", |frame| frame["busy"] == false);
    // A program on the same home that does not go through the daemon.
    let home = server.home();
    let said = json!({"type": "message", "id": "m", "text": "!say gone soon"});
    let mut other = server.chat("doomed");
    other.send_json(&said);
    other.until("done");
    told(&mut watcher, "webchat:doomed", |frame| frame["busy"] == false);
    let output = run_cli(home.path(), &["sessions", "rm", "webchat:doomed", "--yes"], None);
    assert!(output.status.success(), "{output:?}");
    told(&mut watcher, "webchat:doomed", |frame| frame["removed"] == true);
}

#[test]
fn nothing_is_sent_to_sockets_that_do_not_watch() {
    let server = Server::start(&[]);
    let mut quiet = server.chat("quiet");
    server.chat("other").say("m1", "!say news");
    assert!(quiet.is_silent(Duration::from_millis(500)));
    quiet.send_json(&json!({"type": "read", "session": "a\u{7}b"}));
    assert_eq!(quiet.frame()["code"], "bad_session");
    quiet.send_json(&json!({"type": "read", "session": "nobody-knows-it"}));
    assert!(quiet.is_silent(Duration::from_millis(300)), "there is nothing to read there");
}
