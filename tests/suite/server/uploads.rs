//! Files that are uploaded before their message: `PUT /api/uploads`, and `attachments: [{upload: ID}]`.

use aethon_tests::{Request, Response, Server, Socket};
use serde_json::{Value, json};

fn put(server: &Server, name: &str, mime: &str, bytes: impl Into<Vec<u8>>) -> Response {
    let request = Request::new("PUT", &format!("/api/uploads?name={name}"));
    server.send(&request.header("Content-Type", mime).body(bytes))
}

fn uploaded(server: &Server, name: &str, mime: &str, bytes: impl Into<Vec<u8>>) -> String {
    let answer = put(server, name, mime, bytes);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id"].as_str().expect("an id").to_owned()
}

fn say(chat: &mut Socket, id: &str, text: &str, uploads: &[&str]) -> Value {
    let files: Vec<Value> = uploads.iter().map(|upload| json!({"upload": upload})).collect();
    chat.send_json(&json!({"type": "message", "id": id, "text": text, "attachments": files}));
    chat.until("done").last().unwrap().clone()
}

#[test]
fn a_file_is_uploaded_once_and_comes_with_its_message() {
    let server = Server::start(&[]);
    let text = "line\n".repeat(400_000);
    let answer = put(&server, "..%2Fbig%20notes.txt", "Text/Plain; charset=utf-8", text.as_str()).json();
    assert_eq!(
        (&answer["name"], &answer["mime"], &answer["size"]),
        (&json!("big notes.txt"), &json!("text/plain"), &json!(2_000_000))
    );
    let id = answer["id"].as_str().unwrap().to_owned();
    let folder = server.home().path().join("run/uploads");
    for path in [folder.clone(), folder.join(&id)] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is private", path.display());
    }
    // It survives a kill between the upload and its message.
    let server = Server::start_in(server.kill(), &[]);
    let mut chat = server.chat("default");
    say(&mut chat, "m1", "!say seen", &[&id]);
    let stored = server.messages("webchat:default")[0].to_string();
    assert!(stored.contains("big notes.txt") && stored.contains("line\\nline"), "{}", stored.len());
    // The same message again is one message, and another one may name the file, too.
    chat.send_json(
        &json!({"type": "message", "id": "m1", "text": "!say seen", "attachments": [{"upload": id}]}),
    );
    assert_eq!(chat.frame()["type"], "ack");
    let turn = say(&mut chat, "m2", "!say again", &[&id])["turn"].as_str().unwrap().to_owned();
    chat.send_json(&json!({"type": "edit", "id": "e", "turn": turn, "text": "!say edited", "attachments": [{"upload": id}]}));
    assert_eq!(chat.until("done").last().unwrap()["text"], "edited");
}

#[test]
fn documents_and_pictures_are_what_they_are() {
    let server = Server::start(&[]);
    let rich = uploaded(&server, "letter.rtf", "application/rtf", r"{\rtf1\ansi Dear Ada, the walnuts.}");
    let latin = uploaded(&server, "old.txt", "text/plain", b"Gr\xfc\xdfe aus K\xf6ln".as_slice());
    let mut chat = server.chat("default");
    say(&mut chat, "m", "!say seen", &[&rich, &latin]);
    let stored = server.messages("webchat:default")[0].to_string();
    assert!(stored.contains("Dear Ada, the walnuts.") && stored.contains("Grüße aus Köln"), "{stored}");
}

#[test]
fn unusable_upload_is_refused_before_the_message_is_sent() {
    let server = Server::start(&["dashboard.auth_token=\"a long enough token\""]);
    let put = |name: &str, headers: &[(&str, &str)], bytes: Vec<u8>| {
        let request = Request::new("PUT", &format!("/api/uploads?name={name}"));
        let request = request.header("Authorization", "Bearer a long enough token");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let answer = server.send(&request.body(bytes));
        (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned(), answer.text())
    };
    let text = ("Content-Type", "text/plain");
    for (name, headers, bytes, status, code) in [
        ("empty.txt", vec![text], Vec::new(), 422, "bad_attachment"),
        ("x.exe", vec![("Content-Type", "application/x-msdownload")], b"MZ".to_vec(), 422, "bad_attachment"),
        ("x.png", vec![("Content-Type", "image/png")], b"no picture".to_vec(), 422, "bad_attachment"),
        ("x.svg", vec![("Content-Type", "image/svg+xml")], b"<svg/>".to_vec(), 422, "bad_attachment"),
        ("none", vec![], b"x".to_vec(), 415, "unsupported_media_type"),
        ("twice", vec![text, text], b"x".to_vec(), 415, "unsupported_media_type"),
        ("odd", vec![("Content-Type", "text")], b"x".to_vec(), 415, "unsupported_media_type"),
        ("packed", vec![text, ("Content-Encoding", "gzip")], b"x".to_vec(), 415, "unsupported_media_type"),
        ("foreign", vec![text, ("Origin", "https://evil.example")], b"x".to_vec(), 403, "foreign_origin"),
        ("large.txt", vec![text], vec![b'x'; (20 << 20) + 1], 413, "too_large"),
    ] {
        let (found, told, body) = put(name, &headers, bytes);
        assert_eq!((found, status), (status, found), "{name}: {body}");
        assert!(code == told || matches!(status, 403 | 413), "{name}: {body}");
    }
    assert_eq!(put("most.txt", &[text], vec![b'x'; 20 << 20]).0, 200);
    let anonymous = Request::new("PUT", "/api/uploads").header("Content-Type", "text/plain").body("x");
    assert_eq!(server.send(&anonymous).status, 401);
}

#[test]
fn missing_upload_is_reported_and_the_message_is_not_lost() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for id in ["", "../../config.toml", "0123456789abcdef0123456789abcdef"] {
        chat.send_json(&json!({"type": "message", "id": "m", "text": "x", "attachments": [{"upload": id}]}));
        let answer = chat.frame();
        assert_eq!((&answer["code"], &answer["id"]), (&json!("bad_attachment"), &json!("m")), "{answer}");
        assert!(answer["message"].as_str().unwrap().contains("Attach it again"), "{answer}");
    }
    let id = uploaded(&server, "old.txt", "text/plain", "x");
    let path = server.home().path().join("run/uploads").join(&id);
    let day_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(day_ago).unwrap();
    chat.send_json(&json!({"type": "message", "id": "m", "text": "x", "attachments": [{"upload": id}]}));
    assert_eq!(chat.frame()["code"], "bad_attachment");
    uploaded(&server, "new.txt", "text/plain", "x");
    assert!(!path.exists(), "a new file sweeps the old ones");
}
