//! The bin: a deleted conversation is gone everywhere at once, and can come back (docs/api.md, "The bin").

use aethon_tests::{Request, Server};
use serde_json::{Value, json};

fn delete(server: &Server, path: &str) -> u16 {
    server.send(&Request::new("DELETE", path)).status
}

fn bin(server: &Server) -> Value {
    server.get("/api/sessions/bin").json()
}

fn restore(server: &Server, path: &str) -> (u16, Value) {
    let answer = server.post(&format!("/api/sessions/{path}/restore"), &json!({}));
    (answer.status, answer.json())
}

fn texts(server: &Server, session: &str) -> Vec<String> {
    let shown = server.get(&format!("/api/sessions/{session}")).json();
    let messages = shown["messages"].as_array().cloned().unwrap_or_default();
    messages
        .iter()
        .map(|message| message["content"][0]["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_deleted_conversation_is_gone_everywhere_and_comes_back_whole() {
    let server = Server::start(&[]);
    server.chat("plans").say("m1", "!say pomegranate");
    let title = Request::new("PATCH", "/api/sessions/webchat:plans");
    let title = title.header("Content-Type", "application/json").body(json!({"title": "Plans"}).to_string());
    assert_eq!(server.send(&title).status, 200);
    let before = server.get("/api/sessions/webchat:plans").json();
    assert_eq!(delete(&server, "/api/sessions/webchat:plans"), 200);
    for gone in ["webchat:plans", "webchat:plans/export"] {
        assert_eq!(server.get(&format!("/api/sessions/{gone}")).status, 404, "{gone}");
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
    assert_eq!(server.get("/api/search?q=pomegranate").json()["hits"], json!([]));
    assert_eq!(delete(&server, "/api/sessions/webchat:plans"), 404, "it is gone");

    let page = bin(&server);
    assert_eq!(
        (&page["count"], &page["keep_days"], &page["next_cursor"]),
        (&json!(1), &json!(7), &Value::Null)
    );
    let binned = &page["sessions"][0];
    assert_eq!((&binned["title"], &binned["session_id"]), (&json!("Plans"), &json!("webchat:plans")));
    assert_eq!(binned["message_count"], 2);
    assert!(binned["expires_at"].as_str() > binned["deleted_at"].as_str(), "{binned}");

    let (status, answer) = restore(&server, "webchat:plans");
    assert_eq!((status, &answer["session_id"]), (200, &json!("webchat:plans")));
    let after = server.get("/api/sessions/webchat:plans").json();
    for field in ["title", "messages", "created_at", "updated_at", "message_count"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!(server.get("/api/search?q=pomegranate").json()["hits"].as_array().map(Vec::len), Some(2));
    assert_eq!(bin(&server)["count"], 0);
    assert_eq!(restore(&server, "webchat:plans").0, 404, "nothing of that name is in the bin");
    server.chat("plans").say("m2", "!say more");
    assert_eq!(texts(&server, "webchat:plans").len(), 4, "it goes on");
}

#[test]
fn a_new_conversation_of_the_same_name_begins_afresh() {
    let server = Server::start(&[]);
    server.chat("plans").say("m1", "!say old");
    assert_eq!(delete(&server, "/api/sessions/webchat:plans"), 200);
    server.chat("plans").say("m2", "!say new");
    assert_eq!(texts(&server, "webchat:plans"), ["!say new", "new"]);
    let place = bin(&server)["sessions"][0]["bin_id"].as_str().unwrap().to_owned();
    let (status, answer) = restore(&server, &format!("bin/{place}"));
    assert_eq!((status, &answer["session_id"]), (200, &json!("webchat:plans-2")), "the name is taken");
    assert_eq!(texts(&server, "webchat:plans-2"), ["!say old", "old"]);
    assert_eq!(texts(&server, "webchat:plans"), ["!say new", "new"]);
    assert_eq!(restore(&server, &format!("bin/{place}")).0, 404);
    assert_eq!(restore(&server, "bin/no-number").0, 404);
}

#[test]
fn what_is_deleted_for_good_does_not_come_back() {
    let server = Server::start(&[]);
    let begin = |name: &str| {
        server.chat(name).say("m1", "!say pomegranate");
    };
    begin("one");
    assert_eq!(delete(&server, "/api/sessions/webchat:one?now=true"), 200);
    assert_eq!(bin(&server)["count"], 0);
    assert_eq!(delete(&server, "/api/sessions/webchat:one?now=true"), 404);

    // What lies in the bin goes too, whether or not the name is in use again.
    begin("two");
    delete(&server, "/api/sessions/webchat:two");
    assert_eq!(delete(&server, "/api/sessions/webchat:two?now=true"), 200);
    assert_eq!(bin(&server)["count"], 0);

    for name in ["a", "b", "c"] {
        begin(name);
        assert_eq!(delete(&server, &format!("/api/sessions/webchat:{name}")), 200);
    }
    let page = server.get("/api/sessions/bin?limit=2").json();
    assert_eq!((&page["sessions"][0]["session_id"], &page["count"]), (&json!("webchat:c"), &json!(3)));
    let next = page["next_cursor"].as_str().unwrap();
    let rest = server.get(&format!("/api/sessions/bin?limit=2&cursor={next}")).json();
    assert_eq!(
        (&rest["sessions"][0]["session_id"], &rest["next_cursor"]),
        (&json!("webchat:a"), &Value::Null)
    );
    assert_eq!(server.get("/api/sessions/bin?cursor=nonsense").status, 422);
    let place = rest["sessions"][0]["bin_id"].as_str().unwrap();
    assert_eq!(delete(&server, &format!("/api/sessions/bin/{place}")), 204);
    assert_eq!(delete(&server, &format!("/api/sessions/bin/{place}")), 404);
    begin("kept");
    let emptied = server.send(&Request::new("DELETE", "/api/sessions/bin"));
    assert_eq!((emptied.status, &emptied.json()["removed"]), (200, &json!(2)));
    assert_eq!(server.get("/api/sessions").json()["count"], 1, "what was not deleted stays");
    assert_eq!(restore(&server, "webchat:a").0, 404);
}

#[test]
fn without_a_bin_nothing_is_kept() {
    let server = Server::start(&["session.bin_days=0"]);
    server.chat("plans").say("m1", "!say pomegranate");
    assert_eq!(delete(&server, "/api/sessions/webchat:plans"), 200);
    assert_eq!((&bin(&server)["count"], &bin(&server)["keep_days"]), (&json!(0), &json!(0)));
    assert_eq!(restore(&server, "webchat:plans").0, 404);
}
