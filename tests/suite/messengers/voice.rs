//! Voice messages on Telegram (docs/channels.md), against a transcription service as strict as OpenAI's.

use std::path::Path;
use std::sync::Arc;

use aethon_tests::telegram::Telegram;
use aethon_tests::whisper::{KEY, Whisper};
use aethon_tests::{Server, eventually, home};
use serde_json::{Value, json};
use tempfile::TempDir;

const OWNER: i64 = 42;
const OTHER: i64 = 43;

/// A few seconds, in as many bytes as they take.
const SHORT: (u64, u64) = (2, 20);

fn start(telegram: &Telegram, whisper: &Whisper, home: &Arc<TempDir>, more: &[&str]) -> Server {
    let mut settings = telegram.settings();
    settings.extend(whisper.settings());
    settings.push("security.allowed_senders.telegram=[42,43]".into());
    let settings: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    server
}

/// Everything below the home, and the server's output, without the key.
fn assert_no_key(home: &Path) {
    let found = std::process::Command::new("grep").args(["-rl", KEY]).arg(home).output().expect("grep runs");
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    let errors = std::fs::read_to_string(home.with_extension("stderr")).unwrap_or_default();
    assert!(!errors.contains(KEY), "{errors}");
}

fn words(telegram: &Telegram, chat: i64) -> Vec<String> {
    telegram.chat(chat).iter().map(|posted| posted.text().to_owned()).collect()
}

/// The stored records of transcriptions.
fn booked(server: &Server) -> Vec<Value> {
    let rows = server.get("/api/usage?days=2").json()["rows"].clone();
    let rows = rows.as_array().cloned().unwrap_or_default();
    rows.into_iter().filter(|row| row["kind"] == "transcription").collect()
}

#[test]
fn voice_messages_are_transcribed_in_order_without_blocking_others() {
    let (telegram, whisper, home) = (Telegram::start(), Whisper::start(), home());
    let server = start(&telegram, &whisper, &home, &["transcription.language=en"]);
    // A busy service gets a retry after the pause that it wants; other chats do not wait.
    whisper.refuse(&[429, 500]);
    telegram.speak(OWNER, SHORT, b"hm\n!say heard you");
    telegram.say(OWNER, "!say behind it");
    telegram.say(OTHER, "!say elsewhere");
    telegram.await_message(OTHER, "another chat goes on", |posted| posted.text() == "elsewhere");
    assert!(words(&telegram, OWNER).is_empty(), "{:?}", words(&telegram, OWNER));
    telegram.await_message(OWNER, "what came behind", |posted| posted.text() == "behind it");
    assert_eq!(words(&telegram, OWNER), ["heard you", "behind it"]);
    assert_eq!(server.said("telegram:42")[0].1, "[voice message] hm\n!say heard you");
    // Spoken text is no command.
    telegram.speak(OWNER, SHORT, b"/new");
    eventually("it is said", || whisper.transcribed().contains(&"/new".to_owned()).then_some(()));
    telegram.say(OWNER, "!say last");
    telegram.await_message(OWNER, "the last", |posted| posted.text() == "last");
    assert!(server.said("telegram:42").iter().any(|(_, text)| text == "[voice message] /new"));
    assert!(whisper.faults().is_empty(), "{:?}", whisper.faults());
    let rows = booked(&server);
    assert!(rows.len() == 1 && rows[0]["model"] == "gpt-4o-mini-transcribe", "{rows:?}");
    assert_eq!((&rows[0]["input_tokens"], &rows[0]["failed"]), (&json!(40), &json!(2)), "{rows:?}");
    let row = server.feature("transcription");
    assert!(row["state"] == "on" && row["detail"].as_str().unwrap().contains("gpt-4o-mini"), "{row}");
    drop(server);
    assert_no_key(home.path());
}

#[test]
fn crash_during_transcription_loses_nothing() {
    let (telegram, whisper, home) = (Telegram::start(), Whisper::start(), home());
    let server = start(&telegram, &whisper, &home, &[]);
    whisper.refuse(&[429, 429]);
    telegram.speak(OWNER, SHORT, b"hm\n!say heard you");
    telegram.say(OWNER, "!say behind it");
    eventually("it is asked", || (whisper.asked() > 0).then_some(()));
    let home = server.kill();
    let _server = start(&telegram, &whisper, &home, &[]);
    telegram.await_message(OWNER, "what came behind", |posted| posted.text() == "behind it");
    assert_eq!(words(&telegram, OWNER), ["heard you", "behind it"]);
}

#[test]
fn failed_transcription_is_reported_once() {
    let (telegram, whisper, home) = (Telegram::start(), Whisper::start(), home());
    let wrong = "transcription.api_key=sk-another-canary-that-is-wrong";
    let server = start(&telegram, &whisper, &home, &[wrong]);
    telegram.speak(OWNER, SHORT, b"hi");
    let told = telegram.await_message(OWNER, "the wrong key is told", |posted| {
        posted.text().contains("transcription.api_key")
    });
    assert!(told.text().starts_with("I could not transcribe"), "{told:?}");
    assert!(!told.text().contains("sk-another"), "{told:?}");
    assert_eq!(whisper.asked(), 1, "a key does not become right by asking again");
    telegram.say(OWNER, "!say written");
    telegram.await_message(OWNER, "words still arrive", |posted| posted.text() == "written");
    assert_eq!(words(&telegram, OWNER).len(), 2, "{:?}", words(&telegram, OWNER));
    assert!(!server.stderr().contains("sk-another"), "{}", server.stderr());
    let home = server.home();
    drop(server);

    let server = start(&telegram, &whisper, &home, &["channels.telegram.max_file_mb=1"]);
    telegram.speak(OWNER, (9, 2 << 20), b"hi");
    telegram.await_message(OWNER, "a large one is told", |posted| posted.text().contains("larger than 1 MB"));
    whisper.refuse(&[413]);
    telegram.speak(OWNER, SHORT, b"hi");
    eventually("the service's limit is told", || {
        let told = words(&telegram, OWNER);
        (told.iter().filter(|text| text.starts_with("I could not transcribe")).count() == 2).then_some(())
    });
    telegram.speak(OWNER, SHORT, b" ");
    telegram.await_message(OWNER, "silence is told", |posted| posted.text().contains("heard no words"));
    assert!(whisper.transcribed() == [" "], "{:?}", whisper.transcribed());
    drop(server);
}

#[test]
fn voice_without_a_transcriber_is_not_downloaded() {
    let (telegram, whisper, home) = (Telegram::start(), Whisper::start(), home());
    let server = start(&telegram, &whisper, &home, &["transcription.provider=none"]);
    telegram.speak(OWNER, SHORT, b"hi");
    telegram.await_message(OWNER, "it is told", |posted| {
        posted.text().ends_with("(audio/ogg); send a picture, a document or a text file.")
    });
    assert_eq!((whisper.asked(), server.feature("transcription")["state"].as_str()), (0, Some("off")));
}

#[test]
fn daily_ceiling_applies_to_transcription() {
    let (telegram, whisper, home) = (Telegram::start(), Whisper::start(), home());
    // A service on this machine is free unless the owner states a price.
    let server = start(&telegram, &whisper, &home, &["budget.daily_usd=0.000001"]);
    telegram.speak(OWNER, SHORT, b"hm\n!say free");
    telegram.await_message(OWNER, "it is transcribed", |posted| posted.text() == "free");
    assert_eq!((whisper.asked(), booked(&server).len()), (1, 1));
    drop(server);
    // Elsewhere, a model without a price is refused while there is a ceiling.
    let elsewhere = ["transcription.host=http://192.168.77.5:9/v1", "transcription.allow_http=true"];
    let server = start(&telegram, &whisper, &home, &[&["budget.daily_usd=1"], &elsewhere[..]].concat());
    telegram.speak(OWNER, SHORT, b"hi");
    telegram.await_message(OWNER, "the missing price is told", |posted| {
        posted.text().contains("budget.pricing.gpt-4o-mini-transcribe")
    });
    assert_eq!(whisper.asked(), 1);
    drop(server);

    // Ten cents a minute: a recording too long for the day is not sent, a short one is transcribed and booked as counted.
    let price = "budget.pricing.gpt-4o-mini-transcribe={minute=0.1}";
    let server = start(&telegram, &whisper, &home, &["budget.daily_usd=0.5", price]);
    telegram.speak(OWNER, (600, 20), b"hi");
    telegram.await_message(OWNER, "the ceiling is told", |posted| posted.text().contains("budget.daily_usd"));
    assert_eq!(whisper.asked(), 1);
    telegram.speak(OWNER, SHORT, b"hm\n!say short");
    telegram.await_message(OWNER, "the short one is heard", |posted| posted.text() == "short");
    let spent = server.get("/api/usage?days=1").json()["budget"]["spent_usd"].as_f64().unwrap();
    // Twenty tokens are two seconds.
    assert!((spent - 0.1 / 30.0).abs() < 1e-6, "{spent}");
    let booked = booked(&server);
    assert_eq!((booked.len(), booked[0]["requests"].as_u64()), (1, Some(2)), "{booked:?}");
}
