//! Searching messages, and reading a conversation from the middle: `/api/search`, `?around=`, `?after=`, `sessions search`.

use std::sync::atomic::{AtomicU32, Ordering};

use aethon_tests::{Request, Server, run_cli};
use serde_json::{Value, json};

fn say(server: &Server, session: &str, text: &str) {
    let frames = server.chat(session).say(&unique(), text);
    assert_eq!(frames.last().unwrap()["type"], "done", "{frames:?}");
}

/// The client's own id of a message; the same id twice would be one message.
fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("m{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn ids(page: &Value) -> Vec<String> {
    let messages = page["messages"].as_array().unwrap();
    messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
}

fn snippet(hit: &Value) -> String {
    let parts = hit["snippet"].as_array().unwrap().iter();
    parts
        .map(|part| match part["hit"] == true {
            true => format!("[{}]", part["text"].as_str().unwrap()),
            false => part["text"].as_str().unwrap().to_owned(),
        })
        .collect()
}

#[test]
fn messages_are_found_in_all_conversations_and_the_pages_fit_together() {
    let server = Server::start(&["model.provider=echo"]);
    for number in 0..3 {
        say(&server, "one", &format!("The café number {number} in Zürich, before the needle"));
        say(&server, "two", &format!("<b>haystack</b> {number}"));
    }
    let found = server.get("/api/search?q=CAFE%20zur").json();
    let hits = found["hits"].as_array().unwrap();
    assert_eq!((hits.len(), &found["next_cursor"]), (6, &Value::Null), "{found}");
    let first = &hits[0];
    assert_eq!(first["session_id"], "webchat:one");
    assert_eq!((first["role"].as_str(), hits[1]["role"].as_str()), (Some("assistant"), Some("user")));
    assert!(first["turn"].is_string() && first["created_at"].is_string(), "{first}");
    assert_eq!(first["title"], "The café number 0 in Zürich, before the needle");
    assert_eq!(snippet(first), "The [café] number 2 in [Zürich], before the needle");
    let mut paged = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/api/search?q=cafe%20zurich&limit=2{cursor}")).json();
        paged.extend(page["hits"].as_array().unwrap().iter().map(|hit| hit["message_id"].clone()));
        // What is said meanwhile makes no hit appear twice.
        say(&server, "one", "another café in Zürich");
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let all: Vec<Value> = hits.iter().map(|hit| hit["message_id"].clone()).collect();
    assert_eq!(paged, all);
    let count = |path: &str| server.get(path).json()["hits"].as_array().unwrap().len();
    assert_eq!(count("/api/search?q=haystack&session=webchat:one"), 0);
    assert_eq!(count("/api/search?q=haystack&session=webchat:two"), 6);
    assert_eq!(count("/api/search?q=%22%20OR%20NEAR(a*"), 0, "the words are no query language");
    assert_eq!(count("/api/search?q=***"), 0);
    for (path, field) in [
        ("/api/search", "q"),
        ("/api/search?q=%20", "q"),
        ("/api/search?q=x&cursor=-3", "cursor"),
        ("/api/search?q=x&limit=0", "limit"),
        ("/api/search?q=x&session=a%20b", "session"),
    ] {
        let refused = server.get(path);
        assert_eq!((refused.status, &refused.json()["errors"][0]["field"]), (422, &json!(field)), "{path}");
    }
    assert_eq!(server.send(&Request::new("DELETE", "/api/sessions/webchat:two")).status, 200);
    assert_eq!(count("/api/search?q=haystack"), 0, "what was deleted is not found");
}

#[test]
fn a_conversation_is_read_around_a_message_and_on_from_there() {
    let server = Server::start(&["model.provider=echo"]);
    for number in 0..6 {
        say(&server, "long", &format!("message {number}"));
    }
    say(&server, "other", "elsewhere");
    let all = ids(&server.get("/api/sessions/webchat:long").json());
    let page = |query: &str| server.get(&format!("/api/sessions/webchat:long?{query}")).json();
    let flags = |page: &Value| (page["has_more"] == true, page["has_newer"] == true);
    let around = page(&format!("around={}&limit=4", all[6]));
    assert_eq!((ids(&around), flags(&around)), (all[5..9].to_vec(), (true, true)));
    let after = page(&format!("after={}&limit=2", all[8]));
    assert_eq!((ids(&after), flags(&after)), (all[9..11].to_vec(), (true, true)));
    let last = page(&format!("after={}&limit=2", all[10]));
    assert_eq!((ids(&last), flags(&last)), (all[11..].to_vec(), (true, false)));
    let before = page(&format!("before={}&limit=2", all[2]));
    assert_eq!((ids(&before), flags(&before)), (all[..2].to_vec(), (false, true)));
    assert_eq!(flags(&page("limit=2")), (true, false));
    let first = page(&format!("around={}&limit=99", all[0]));
    assert_eq!((ids(&first), flags(&first)), (all.clone(), (false, false)));
    let elsewhere = ids(&server.get("/api/sessions/webchat:other").json())[0].clone();
    for missing in ["999999", elsewhere.as_str()] {
        let refused = server.get(&format!("/api/sessions/webchat:long?around={missing}"));
        assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("no_such_message")));
    }
    for wrong in ["around=x".to_owned(), format!("around={0}&before={0}", all[0])] {
        assert_eq!(server.get(&format!("/api/sessions/webchat:long?{wrong}")).status, 422, "{wrong}");
    }
}

#[test]
fn the_terminal_finds_messages_with_and_without_a_server() {
    let server = Server::start(&["model.provider=echo"]);
    say(&server, "one", "the needle \u{1b}[31m in it");
    let home = server.home();
    let told = |arguments: &[&str]| {
        let output = run_cli(home.path(), &[&["sessions", "search"], arguments].concat(), None);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let attached = told(&["need"]);
    assert!(attached.contains("webchat:one") && attached.contains("the *needle*"), "{attached}");
    assert!(!attached.contains('\u{1b}'), "{attached:?}");
    assert!(told(&["needle", "--session", "other"]).contains("no message"));
    drop(server);
    assert_eq!(told(&["need"]), attached);
    let found: Value = serde_json::from_str(&told(&["--json", "need"])).unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 2);
}
