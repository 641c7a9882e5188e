//! Attachments of chat messages (docs/contract/sockets.md).

use aethon_tests::{Server, Socket};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The smallest PNG: one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

fn with(id: &str, text: &str, files: &Value) -> Value {
    json!({"type": "message", "id": id, "text": text, "attachments": files})
}

fn text_file(name: &str, mime: &str, text: &str) -> Value {
    json!({"name": name, "mime": mime, "data": STANDARD.encode(text)})
}

/// The text of the first `error` frame after sending this.
fn refused(chat: &mut Socket, frame: &Value) -> Value {
    chat.send_json(frame);
    let answer = chat.frame();
    assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("bad_attachment")), "{answer}");
    answer
}

#[test]
fn pictures_and_text_are_kept_with_the_message() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let files = json!([
        {"name": "dot.png", "mime": "image/png", "data": PNG},
        {"name": "dot.gif", "mime": "image/gif", "data": "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="},
        {"name": "dot.jpg", "mime": "image/jpeg", "data": "/9j/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8Q"},
        {"name": "dot.webp", "mime": "image/webp", "data": "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"},
        text_file("notes.txt", "text/plain", "milk, honey \u{1f41d}"),
        text_file("list.md", "text/markdown", "- a\n- b"),
        text_file("table.csv", "text/csv", "a,b\n1,2"),
    ]);
    chat.send_json(&with("m1", "!say seen", &files));
    assert_eq!(chat.until("done").last().unwrap()["text"], "seen");
    let messages = server.messages("webchat:default");
    let content = messages[0]["content"].as_array().unwrap();
    let all = messages[0].to_string();
    assert_eq!(content.len(), 8, "the text and seven files: {all}");
    for kept in [
        "image/png",
        "image/gif",
        "image/jpeg",
        "image/webp",
        "notes.txt",
        "milk, honey \u{1f41d}",
        "list.md",
        "a,b\\n1,2",
    ] {
        assert!(all.contains(kept), "{kept} in {all}");
    }
}

#[test]
fn attachments_alone_are_a_message() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&with("m1", "", &json!([{"name": "dot.png", "mime": "image/png", "data": PNG}])));
    assert_eq!(chat.until("done").last().unwrap()["stop_reason"], "end");
}

#[test]
fn unsupported_attachment_is_refused_and_not_stored() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let data = STANDARD.encode("hello");
    for (name, mime, data) in [
        ("a.svg", "image/svg+xml", data.as_str()),
        ("a.bmp", "image/bmp", &data),
        ("a.pdf", "application/pdf", &data),
        ("a.zip", "application/zip", &data),
        ("a.bin", "application/octet-stream", &data),
        ("a", "", &data),
        ("a", "text", &data),
        ("a", "video/mp4", &data),
        ("a.txt", "text/plain", "not base64!"),
        ("a.png", "image/png", "not base64!"),
        ("a.png", "image/png", "aGVsbG8"),
        ("a.png", "image/png", "aGVs\nbG8="),
        ("a.txt", "text/plain", &STANDARD.encode([0xff, 0xfe, 0x00])),
    ] {
        let file = json!({"name": name, "mime": mime, "data": data});
        let answer = refused(&mut chat, &with("m1", "!say hello", &json!([file])));
        assert!(answer["message"].as_str().unwrap().len() > 20, "says what is allowed: {answer}");
    }
    // One wrong file among right ones refuses the whole message.
    let right = json!({"name": "dot.png", "mime": "image/png", "data": PNG});
    let wrong = json!({"name": "a.svg", "mime": "image/svg+xml", "data": data});
    refused(&mut chat, &with("m1", "!say hello", &json!([right, wrong])));
    assert_eq!(server.get("/api/sessions").json()["count"], 0, "nothing was taken in");
    assert_eq!(chat.say("m1", "!say now").last().unwrap()["text"], "now", "the id is free");
}

#[test]
fn attachment_name_cannot_be_a_path() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let files = json!([text_file("../../etc/cron.d/x\u{0}\n", "text/plain", "hello")]);
    chat.send_json(&with("m1", "!say seen", &files));
    assert_eq!(chat.until("done").last().unwrap()["text"], "seen");
    let kept = server.messages("webchat:default")[0].to_string();
    assert!(!kept.contains("..") && !kept.contains("\\u0000"), "{kept}");
}

#[test]
fn attachment_size_is_limited_by_the_frame() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let text = "line of a long file\n".repeat(35_000);
    chat.send_json(&with("m1", "!say seen", &json!([text_file("long.txt", "text/plain", &text)])));
    assert_eq!(chat.until("done").last().unwrap()["text"], "seen");
}
