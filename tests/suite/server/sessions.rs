//! Sessions over the API: `/api/sessions*` (docs/contract/http.md), and stored text that could harm a reader.

use aethon_tests::{Request, Server, eventually};
use serde_json::{Value, json};

fn patch(server: &Server, session: &str, body: &Value) -> u16 {
    let request = Request::new("PATCH", &format!("/api/sessions/{session}"));
    server.send(&request.header("Content-Type", "application/json").body(body.to_string())).status
}

fn post(server: &Server, session: &str, what: &str) -> u16 {
    server.post(&format!("/api/sessions/{session}/{what}"), &json!({})).status
}

fn ids(page: &Value) -> Vec<String> {
    let sessions = page["sessions"].as_array().expect("a list of sessions");
    sessions.iter().map(|session| session["session_id"].as_str().expect("an id").to_owned()).collect()
}

fn is_time(value: &Value) -> bool {
    // RFC 3339 UTC: 2026-11-20T10:30:00Z, with or without a fraction.
    let text = value.as_str().unwrap_or_default();
    let shape: String = text.chars().take(20).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    (shape == "0000-00-00T00:00:00Z" || shape == "0000-00-00T00:00:00.") && text.ends_with('Z')
}

#[test]
fn an_empty_home_has_no_sessions() {
    let server = Server::start(&[]);
    let page = server.get("/api/sessions").json();
    assert_eq!(
        (&page["sessions"], &page["count"], &page["next_cursor"]),
        (&json!([]), &json!(0), &Value::Null)
    );
}

#[test]
fn a_session_is_listed_with_its_fields() {
    let server = Server::start(&[]);
    server.chat("notes").say("m1", "!say hello");
    let page = server.get("/api/sessions").json();
    assert_eq!(page["count"], 1);
    let session = &page["sessions"][0];
    assert_eq!(session["session_id"], "webchat:notes");
    assert_eq!(session["channel"], "webchat");
    assert_eq!(session["message_count"], 2);
    assert_eq!(session["busy"], false);
    for name in ["sender", "title", "agent_name"] {
        assert!(session[name].is_string(), "{name} of {session}");
    }
    assert!(!session["title"].as_str().unwrap().is_empty(), "a title is taken from the first message");
    assert!(is_time(&session["created_at"]) && is_time(&session["updated_at"]), "{session}");
}

#[test]
fn a_list_is_paged_newest_first() {
    let server = Server::start(&[]);
    for number in 0..7 {
        server.chat(&format!("s{number}")).say("m", "!say hello");
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/api/sessions?limit=3{cursor}")).json();
        assert_eq!(page["count"], 7, "the number of all");
        let ids = ids(&page);
        assert!(ids.len() <= 3);
        seen.extend(ids);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", next.replace('+', "%2B").replace('=', "%3D")),
            None => break,
        }
    }
    let expected: Vec<String> = (0..7).rev().map(|number| format!("webchat:s{number}")).collect();
    assert_eq!(seen, expected);
    server.chat("s2").say("again", "!say hello");
    assert_eq!(
        ids(&server.get("/api/sessions?limit=1").json()),
        ["webchat:s2"],
        "the one just used comes first"
    );
    let all = server.get("/api/sessions?limit=100000");
    assert!([200, 422].contains(&all.status), "a limit is bounded");
}

#[test]
fn a_list_can_be_searched() {
    let server = Server::start(&[]);
    server.chat("fruit").say("m", "!say the apple is red");
    server.chat("animals").say("m", "!say the crab is red");
    server.chat("quotes").say("m", "!say 100% \"sure\" it's_so \u{1f980}");
    let found = |q: &str| {
        let mut found = ids(&server.get(&format!("/api/sessions?q={q}")).json());
        found.sort();
        found
    };
    assert_eq!(found("apple"), ["webchat:fruit"]);
    assert_eq!(found("red"), ["webchat:animals", "webchat:fruit"]);
    assert_eq!(found("CRAB"), ["webchat:animals"], "case does not matter");
    assert_eq!(found("red%20crab"), ["webchat:animals"], "all words");
    assert_eq!(found("animals"), ["webchat:animals"], "the name too");
    assert_eq!(found("nothing-of-the-kind"), Vec::<String>::new());
    assert_eq!(found("%25"), ["webchat:quotes"], "wildcards of SQL are plain characters");
    patch(&server, "webchat:fruit", &json!({"title": "Zebra"}));
    assert_eq!(found("zebra"), ["webchat:fruit"], "and the title");
    assert_eq!(found("").len(), 3);
}

#[test]
fn a_session_tells_its_messages() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.say("m1", "!tool current_time {}\n!then\n!say it is late");
    let session = server.get("/api/sessions/webchat:default").json();
    assert_eq!(session["session_id"], "webchat:default");
    let messages = session["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    for message in messages {
        assert!(message["id"].is_string(), "ids are strings: {message}");
        assert!(message["content"].as_array().is_some_and(|blocks| !blocks.is_empty()), "{message}");
        assert!(is_time(&message["created_at"]), "{message}");
    }
    assert_eq!(messages[0]["content"][0]["text"], "!tool current_time {}\n!then\n!say it is late");
    let last = &messages[3];
    assert_eq!(last["content"][0]["text"], "it is late");
    assert_eq!(last["model"], "fake");
    assert!(last["usage"]["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{last}");
    let call = &messages[1]["content"][0];
    let result = &messages[2]["content"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("tool_call"), &json!("current_time")));
    assert_eq!(result["type"], "tool_result");
    assert_eq!(result["call"], call["id"], "every call has its result");
    // The colon may be encoded in the address.
    assert_eq!(server.get("/api/sessions/webchat%3Adefault").json()["session_id"], "webchat:default");
}

#[test]
fn messages_are_paged_backwards() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for number in 0..10 {
        chat.say(&format!("m{number}"), &format!("!say answer {number}"));
    }
    let newest = server.get("/api/sessions/webchat:default?limit=4").json()["messages"].clone();
    let texts = |page: &Value| -> Vec<String> {
        let texts = page.as_array().unwrap().iter().map(|message| &message["content"][0]["text"]);
        texts.filter_map(|text| text.as_str()).map(str::to_owned).collect()
    };
    assert_eq!(texts(&newest), ["!say answer 8", "answer 8", "!say answer 9", "answer 9"]);
    let before = newest[0]["id"].as_str().unwrap();
    let older = server.get(&format!("/api/sessions/webchat:default?limit=2&before={before}")).json();
    assert_eq!(texts(&older["messages"]), ["!say answer 7", "answer 7"]);
    assert_eq!(server.said("webchat:default").len(), 20, "and all of them together");
}

#[test]
fn busy_session_is_reported_as_busy() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 500 20"}));
    chat.until("delta");
    assert_eq!(server.get("/api/sessions/webchat:default").json()["busy"], true);
    assert_eq!(server.get("/api/sessions").json()["sessions"][0]["busy"], true);
    assert_eq!(post(&server, "webchat:default", "stop") / 100, 2);
    let done = chat.until("done").pop().unwrap();
    assert_eq!(done["stop_reason"], "stopped");
    assert!(done["text"].as_str().unwrap().starts_with("token1"), "what was said is kept");
    eventually("it is idle", || {
        (server.get("/api/sessions/webchat:default").json()["busy"] == false).then_some(())
    });
    assert_eq!(post(&server, "webchat:default", "stop") / 100, 2, "nothing to stop is no failure");
}

#[test]
fn a_title_can_be_set() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say hello");
    let title = "<img src=x onerror=alert(1)> \"quoted\" & 'so'";
    assert_eq!(patch(&server, "webchat:default", &json!({"title": title})) / 100, 2);
    assert_eq!(server.get("/api/sessions/webchat:default").json()["title"], title, "text is kept as text");
    let answer = server.get("/api/sessions");
    assert_eq!(answer.header("content-type").unwrap().split(';').next(), Some("application/json"));
    assert!([400, 422].contains(&patch(&server, "webchat:default", &json!({"title": "x".repeat(100_000)}))));
    server.chat("default").say("m2", "!say hello again");
    assert_eq!(
        server.get("/api/sessions/webchat:default").json()["title"],
        title,
        "a later message does not change it"
    );
}

#[test]
fn a_reset_empties_and_a_delete_removes() {
    let server = Server::start(&[]);
    for name in ["one", "two"] {
        let mut chat = server.chat(name);
        chat.say("m1", "!say hello");
        chat.say("m2", "!say pomegranate");
    }
    assert_eq!(post(&server, "webchat:one", "reset") / 100, 2);
    let session = server.get("/api/sessions/webchat:one").json();
    assert_eq!((&session["messages"], &session["message_count"]), (&json!([]), &json!(0)));
    let delete = |id: &str| server.send(&Request::new("DELETE", &format!("/api/sessions/{id}"))).status;
    assert_eq!(delete("webchat:two") / 100, 2);
    assert_eq!(server.get("/api/sessions/webchat:two").status, 404);
    assert_eq!(delete("webchat:two"), 404);
    assert_eq!(ids(&server.get("/api/sessions").json()), ["webchat:one"]);
    // The session can be used again, and the removed text is found no more.
    assert_eq!(server.chat("one").say("m1-again", "!say fresh").last().unwrap()["text"], "fresh");
    assert_eq!(server.said("webchat:one").len(), 2);
    assert_eq!(server.get("/api/sessions?q=pomegranate").json()["count"], 0);
}

#[test]
fn a_running_session_can_be_reset_and_deleted() {
    let server = Server::start(&[]);
    for (what, method) in [("/reset", "POST"), ("", "DELETE")] {
        let mut chat = server.chat("default");
        chat.send_json(&json!({"type": "message", "id": format!("m{what}"), "text": "!stream 500 20"}));
        chat.until("delta");
        let request = Request::new(method, &format!("/api/sessions/webchat:default{what}"));
        let request = request.header("Content-Type", "application/json");
        assert_eq!(server.send(&request.body(if what.is_empty() { "" } else { "{}" })).status / 100, 2);
        assert_eq!(chat.until("done").pop().unwrap()["stop_reason"], "stopped");
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
    assert_eq!(server.chat("default").say("m9", "!say fresh").last().unwrap()["text"], "fresh");
    assert_eq!(server.said("webchat:default").len(), 2, "nothing of the removed turns came back");
}

#[test]
fn an_unknown_session_is_404() {
    let server = Server::start(&[]);
    for id in ["webchat:none", "none", "webchat:", ":x", "a%2Fb", &"x".repeat(1000)] {
        assert_eq!(server.get(&format!("/api/sessions/{id}")).status, 404, "{id}");
        assert_eq!(server.get(&format!("/api/sessions/{id}/export?format=json")).status, 404, "{id}");
        assert_eq!(post(&server, id, "reset"), 404, "{id}");
        assert_eq!(post(&server, id, "stop"), 404, "{id}");
        assert_eq!(patch(&server, id, &json!({"title": "x"})), 404, "{id}");
        let delete = server.send(&Request::new("DELETE", &format!("/api/sessions/{id}")));
        assert_eq!(delete.status, 404, "{id}");
        delete.problem();
    }
}

#[test]
fn a_session_can_be_exported() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for number in 0..60 {
        chat.say(&format!("m{number}"), &format!("!say answer {number}"));
    }
    let json = server.get("/api/sessions/webchat:default/export?format=json");
    assert_eq!(json.status, 200);
    assert_eq!(json.json()["messages"].as_array().unwrap().len(), 120, "the whole of it");
    assert!(json.text().contains("\"session_id\":\"webchat:default\""), "and whose it is");
    let disposition = json.header("content-disposition").expect("a file to save");
    assert!(disposition.starts_with("attachment"), "{disposition}");
    let markdown = server.get("/api/sessions/webchat:default/export?format=markdown");
    assert!(markdown.header("content-type").unwrap().starts_with("text/markdown"));
    let text = markdown.text();
    assert!(text.contains("answer 0") && text.contains("answer 59"), "{text}");
    json.assert_guarded();
    markdown.assert_guarded();
}

#[test]
fn a_stored_reply_is_rendered_as_safely_as_a_live_one() {
    let server = Server::start(&["model.provider=echo"]);
    let frames =
        server.chat("default").say("m1", "# Title\n\n**bold** <script>alert(1)</script> [a](javascript:x)");
    let messages = server.messages("webchat:default");
    let html = messages[1]["content"][0]["html"].clone();
    let blocks: Vec<&str> = html.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(blocks.concat(), frames.last().unwrap()["html"].as_str().unwrap(), "the same as at first");
    assert!(!blocks.concat().contains("<script") && !blocks.concat().contains("href=\"javascript"));
    assert!(messages[0]["content"][0].get("html").is_none(), "what a person wrote is text");
}
