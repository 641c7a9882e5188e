//! What a person dictates: `POST /api/transcribe`.

use aethon_tests::http::Request;
use aethon_tests::whisper::Whisper;
use aethon_tests::{Server, home};
use serde_json::json;

fn spoken(kind: &str, bytes: &[u8]) -> Request {
    Request::new("POST", "/api/transcribe").header("Content-Type", kind).body(bytes)
}

fn start(whisper: &Whisper, more: &[&str]) -> Server {
    let settings = whisper.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Server::start_in(home(), &settings)
}

#[test]
fn recording_becomes_words_within_the_budget_and_is_not_kept() {
    let whisper = Whisper::start();
    let server = start(&whisper, &[]);
    assert_eq!(server.get("/api/status").json()["transcription"], true);
    let answer = server.send(&spoken("audio/webm;codecs=opus", b"what I said"));
    assert_eq!((answer.status, answer.json()), (200, json!({"text": "what I said"})), "{}", answer.text());
    assert_eq!(server.send(&spoken("video/webm", b"and more")).json()["text"], "and more");
    let rows = server.get("/api/usage?days=2").json()["rows"].clone();
    assert!(
        rows.as_array().unwrap().iter().any(|row| row["kind"] == "transcription" && row["requests"] == 2),
        "{rows}"
    );
    let found = std::process::Command::new("grep")
        .args(["-rl", "what I said"])
        .arg(server.home().path())
        .output()
        .unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));

    let code = |answer: aethon_tests::http::Response| (answer.status, answer.json()["code"].clone());
    assert_eq!(code(server.send(&spoken("text/plain", b"x"))), (415, json!("unsupported_media_type")));
    assert_eq!(server.send(&Request::new("POST", "/api/transcribe").body("x")).status, 415);
    assert_eq!(server.send(&spoken("audio/webm", b"")).status, 422);
    whisper.refuse(&[401]);
    assert_eq!(code(server.send(&spoken("audio/webm", b"x"))), (502, json!("model_error")));
    let foreign = spoken("audio/webm", b"x").header("Origin", "https://evil.example");
    assert_eq!(server.send(&foreign).status, 403);
}

#[test]
fn without_a_service_or_money_nothing_is_sent() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/api/status").json()["transcription"], false);
    let answer = server.send(&spoken("audio/webm", b"x"));
    assert_eq!((answer.status, answer.json()["code"].clone()), (409, json!("transcription_off")));
    assert!(answer.json()["detail"].as_str().unwrap().contains("transcription.provider"));
    let whisper = Whisper::start();
    let prices = "budget.pricing={ whisper-1 = { input = 1000.0, output = 1000.0 } }";
    let server = start(&whisper, &["budget.daily_usd=0.000001", "transcription.model_id=whisper-1", prices]);
    let answer = server.send(&spoken("audio/webm", &[b'x'; 4000]));
    assert_eq!(
        (answer.status, answer.json()["code"].clone()),
        (429, json!("budget_exceeded")),
        "{}",
        answer.text()
    );
    assert_eq!(whisper.asked(), 0);
}
