//! A damaged database: the turn that meets the damage ends, and all others get an error.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use aethon_tests::{Server, eventually, run_cli};
use serde_json::{Value, json};

const PAGE: usize = 4096;

/// Overwrites the pages of the database that hold this text.
fn destroy_pages_with(home: &Path, text: &str) {
    let path = home.join("aethon.db");
    let bytes = std::fs::read(&path).expect("the database");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the database");
    let with_text = |page: &&[u8]| page.windows(text.len()).any(|window| window == text.as_bytes());
    let mut found = 0;
    for (number, _) in bytes.chunks(PAGE).enumerate().filter(|(_, page)| with_text(page)) {
        file.write_all_at(&[0x5a; PAGE], (number * PAGE) as u64).expect("it can be written");
        found += 1;
    }
    assert!(found > 0, "{text:?} is not in the file");
}

/// Overwrites the first page of a table, which its row of the schema names: type, name, table, page, statement.
fn destroy_table(home: &Path, table: &str) {
    let path = home.join("aethon.db");
    let bytes = std::fs::read(&path).expect("the database");
    let row = format!("table{table}{table}");
    let find = |bytes: &[u8], text: &str| {
        bytes.windows(text.len()).position(|window| window == text.as_bytes()).expect("a row of the schema")
    };
    let rest = &bytes[find(&bytes, &row) + row.len()..];
    let page = rest[..find(rest, "CREATE ")].iter().fold(0, |page, byte| (page << 8) | u64::from(*byte));
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the database");
    file.write_all_at(&[0x5a; PAGE], (page - 1) * PAGE as u64).expect("it can be written");
}

/// Waits until everything is in the main file.
fn until_checkpointed(home: &Path) {
    eventually("the log is empty", || {
        std::fs::metadata(home.join("aethon.db-wal")).is_ok_and(|log| log.len() == 0).then_some(())
    });
}

/// A server with a conversation of some pages. Returns the turn that was last.
fn with_conversation() -> (Server, Value) {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let mut last = Value::Null;
    for number in 0..12 {
        let words = format!("marker{number:03} ").repeat(150);
        let frames = chat.say(&format!("m{number}"), &format!("!say {words}"));
        last = frames.last().expect("an end")["turn"].clone();
    }
    (server, last)
}

fn storage_row(server: &Server) -> Value {
    let features = server.get("/api/features").json();
    let rows = features["features"].as_array().expect("rows");
    rows.iter().find(|row| row["id"] == "storage").cloned().expect("a row")
}

#[test]
fn turn_on_damaged_data_ends_and_all_callers_get_an_error() {
    let (server, last) = with_conversation();
    let home = server.home();
    until_checkpointed(home.path());
    destroy_pages_with(home.path(), "marker004 marker004");
    let mut onlooker = server.chat("other");
    let mut chat = server.chat("default");
    // A retry reads the conversation again.
    chat.send_json(&json!({"type": "retry", "turn": last}));
    let frames = chat.until("done");
    let end = frames.last().expect("an end");
    assert_eq!((&end["stop_reason"], frames[0]["type"].as_str()), (&json!("error"), Some("ack")), "{end}");
    let error = frames.iter().find(|frame| frame["type"] == "error" && frame["code"] == "storage");
    assert!(error.is_some_and(|error| error["message"].to_string().contains("is damaged")), "{frames:?}");
    let notice = onlooker.until("notice").pop().expect("a notice");
    assert_eq!(notice["code"], "storage_unavailable");
    assert!(notice["message"].to_string().contains("doctor --repair"), "{notice}");

    for _ in 0..2 {
        let unready = server.get("/api/ready");
        assert_eq!((unready.status, &unready.json()["code"]), (503, &json!("storage_unavailable")));
        assert!(unready.text().contains("the database is damaged"), "{}", unready.text());
        let refused = server.post("/webhook/trigger", &json!({"text": "!say never"}));
        assert_eq!(refused.status, 503);
        assert!(refused.text().contains("the database is damaged"), "{}", refused.text());
    }
    assert_eq!(storage_row(&server)["state"], "degraded");
    let logged = server.stderr().matches("new messages are refused until it is mended").count();
    assert_eq!(logged, 1, "{}", server.stderr());

    // The server that is started on it says the same from the first moment; what can be read is read.
    server.terminate();
    let server = Server::start_in(home.clone(), &[]);
    assert_eq!(server.get("/api/ready").status, 503);
    assert_eq!(server.get("/api/sessions").json()["count"], 1);
    server.terminate();
    let mended = run_cli(home.path(), &["--set", "model.provider=fake", "doctor", "--repair"], None);
    let said = String::from_utf8_lossy(&mended.stdout).into_owned();
    assert!(said.contains("lost of messages"), "{said}");
    let server = Server::start_in(home, &[]);
    assert_eq!(server.get("/api/ready").status, 200);
    assert!(server.said("webchat:default").len() > 12, "most of it is there");
}

#[test]
fn server_starts_on_damaged_rows_and_reports_them() {
    for table in ["marks", "turns"] {
        let (server, _) = with_conversation();
        let home = server.home();
        server.terminate();
        destroy_table(home.path(), table);
        let server = Server::start_in(home, &[]);
        let unready = server.get("/api/ready");
        assert_eq!(unready.status, 503, "{table}");
        assert!(unready.text().contains("the database is damaged"), "{table}: {}", unready.text());
        assert_eq!(server.get("/api/sessions").json()["count"], 1, "{table}");
        server.terminate();
    }
}
