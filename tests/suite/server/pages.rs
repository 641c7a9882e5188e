//! Long lists come in pages (docs/contract/http.md): `limit` bounds one, and `next_cursor` fetches the next.

use aethon_tests::{Request, Server, eventually};
use serde_json::{Value, json};

/// Reads all pages of a list, two entries at a time.
fn all_pages(server: &Server, list: &str, member: &str) -> Vec<Value> {
    let (mut entries, mut cursor) = (Vec::new(), String::new());
    loop {
        let page =
            server.get(&format!("{list}{}limit=2{cursor}", if list.contains('?') { '&' } else { '?' }));
        assert_eq!(page.status, 200, "{list}: {}", page.text());
        let page = page.json();
        let rows = page[member].as_array().unwrap_or_else(|| panic!("{list}: {page}"));
        assert!((1..=2).contains(&rows.len()), "{list}: {page}");
        entries.extend(rows.iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { return entries };
        cursor = format!("&cursor={next}");
    }
}

#[test]
fn logs_the_audit_trail_agents_and_work_have_pages() {
    let server = Server::start(&["work.enabled=true"]);
    for number in 0..5 {
        let session = format!("s{number}");
        server.chat(&session).say("m", "hello");
        assert_eq!(
            server.send(&Request::new("DELETE", &format!("/api/sessions/webchat:{session}"))).status,
            200
        );
        let task = json!({"title": "wait", "acceptance": ["it is done"]});
        let plan = json!({"goal": format!("goal {number}"), "tasks": [task], "when": "idle"});
        assert_eq!(server.post("/api/work", &plan).status, 201);
    }
    let lists = [
        ("/api/logs?level=debug", "records"),
        ("/api/audit?action=deletion", "audit"),
        ("/api/audit", "audit"),
        ("/api/agents/history", "history"),
        ("/api/work", "work"),
    ];
    for (list, member) in lists {
        let whole = eventually("it has several entries", || {
            let whole = server.get(list).json();
            assert_eq!(whole["next_cursor"], Value::Null, "{list}");
            Some(whole[member].as_array()?.clone()).filter(|entries| entries.len() >= 5)
        });
        let read = all_pages(&server, list, member);
        // Meanwhile there may be new entries, which come first.
        let shared = &read[read.len() - whole.len()..];
        let name = |entry: &Value| {
            // Work goes on, and changes while it is read.
            let id = &entry["work_id"];
            if id.is_null() { entry.clone() } else { id.clone() }
        };
        assert!(shared.iter().map(name).eq(whole.iter().map(name)), "{list}: {read:#?}");
        let foreign = server.get(&format!("{list}{}cursor=x", if list.contains('?') { '&' } else { '?' }));
        assert_eq!(
            (foreign.status, &foreign.json()["errors"][0]["field"]),
            (422, &json!("cursor")),
            "{list}"
        );
    }
}
