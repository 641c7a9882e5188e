//! One act of a person is one turn, and an edit reaches what it corrects (docs/channels.md), also when the program is killed
//! in the middle.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, eventually, home};
use serde_json::{Value, json};
use tempfile::TempDir;

const OWNER: i64 = 42;
const GROUP: i64 = -100_123;
/// How long a plain message may wait on the whole, on a busy machine.
const QUICK: Duration = Duration::from_secs(8);

fn start(telegram: &Telegram, home: &Arc<TempDir>, more: &[&str]) -> Server {
    let settings = telegram.settings();
    let settings: Vec<&str> = settings
        .iter()
        .map(String::as_str)
        .chain(["security.allowed_senders.telegram=[42,43]"])
        .chain(more.iter().copied())
        .collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    server
}

fn shown(telegram: &Telegram, chat: i64) -> Vec<String> {
    telegram.chat(chat).iter().map(|posted| posted.text().to_owned()).collect()
}

/// What the person said in a session, with the names of the files.
fn asked(server: &Server, session: &str) -> Vec<String> {
    let told = |message: &Value| {
        let blocks = message["content"].as_array().expect("blocks");
        let parts = blocks.iter().filter_map(|block| match block["type"].as_str() {
            Some("text") => block["text"].as_str(),
            Some("file") => block["name"].as_str(),
            _ => None,
        });
        parts.collect::<Vec<_>>().join(" | ")
    };
    if server.get(&format!("/api/sessions/{session}")).status != 200 {
        return Vec::new();
    }
    server.messages(session).iter().filter(|message| message["role"] == "user").map(told).collect()
}

fn album_part(telegram: &Telegram, name: &str, more: &Value) -> Value {
    let mut fields = json!({"media_group_id": "g1", "document": telegram.document(name, name.as_bytes())});
    for (key, value) in more.as_object().expect("fields") {
        fields[key] = value.clone();
    }
    fields
}

#[test]
fn acts_on_telegram_are_one_turn_each() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &[]);
    let mut answers = Vec::new();
    let mut await_answer = |answer: &str| {
        telegram.await_message(OWNER, answer, |posted| posted.text() == answer);
        answers.push(answer.to_owned());
        assert_eq!(shown(&telegram, OWNER), answers, "one answer");
    };
    // An album with its words on the second item.
    for (name, caption) in [("a.txt", ""), ("b.txt", "!say album"), ("c.txt", ""), ("d.txt", "")] {
        telegram.send(OWNER, &album_part(&telegram, name, &json!({"caption": caption})));
    }
    await_answer("album");
    // A paste that the client cut.
    let (head, tail) = ("x".repeat(4050), "!say paste");
    telegram.say(OWNER, &head);
    telegram.say(OWNER, tail);
    await_answer("paste");
    // A comment, and what it forwards.
    telegram.say(OWNER, "!say comment");
    let origin = json!({"type": "hidden_user", "sender_user_name": "Eve"});
    telegram.send(OWNER, &json!({"text": "obey", "forward_origin": origin}));
    await_answer("comment");
    // A text, and a file that follows by hand although the answer is ready by then.
    telegram.say(OWNER, "!say text and file");
    std::thread::sleep(Duration::from_millis(1200));
    telegram.send(OWNER, &json!({"document": telegram.document("e.txt", b"e")}));
    await_answer("text and file");
    let asked = asked(&server, "telegram:42");
    assert_eq!(asked[0], "!say album | a.txt | b.txt | c.txt | d.txt");
    assert_eq!(asked[1], format!("{head}\n{tail}"));
    assert!(asked[2].starts_with("!say comment | ") && asked[2].ends_with("obey"), "{}", asked[2]);
    assert_eq!(asked[3..], ["!say text and file | e.txt"]);
    // What is complete does not wait.
    let begun = Instant::now();
    telegram.say(OWNER, "!say quick");
    await_answer("quick");
    assert!(begun.elapsed() < QUICK, "{:?}", begun.elapsed());
}

#[test]
fn album_survives_a_kill_at_any_moment_as_one_turn() {
    // After how many parts, and how many milliseconds later.
    for (parts, milliseconds) in [(1, 0), (2, 0), (2, 700), (2, 1400), (3, 1100)] {
        let (telegram, home) = (Telegram::start(), home());
        let server = start(&telegram, &home, &[]);
        let names = ["a.txt", "b.txt", "c.txt"];
        let send = |name: &&str| {
            let caption = if *name == "a.txt" { "!say album" } else { "" };
            telegram.send(OWNER, &album_part(&telegram, name, &json!({"caption": caption})));
        };
        names[..parts].iter().for_each(send);
        telegram.await_confirmation();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let home = server.kill();
        names[parts..].iter().for_each(send);
        let server = start(&telegram, &home, &[]);
        telegram.await_message(OWNER, "the answer", |posted| posted.text() == "album");
        telegram.await_confirmation();
        telegram.say(OWNER, "!say next");
        telegram.await_message(OWNER, "the next answer", |posted| posted.text() == "next");
        assert_eq!(shown(&telegram, OWNER), ["album", "next"], "{parts} {milliseconds}");
        let asked = asked(&server, "telegram:42");
        assert_eq!(asked, ["!say album | a.txt | b.txt | c.txt", "!say next"], "{parts} {milliseconds}");
    }
}

#[test]
fn edit_replaces_unanswered_and_corrects_answered_messages() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &[]);
    let message = telegram.say(OWNER, "!sleep 600000\n!say old");
    eventually("its turn runs", || (!asked(&server, "telegram:42").is_empty()).then_some(()));
    telegram.edit(message, OWNER, "!say new");
    telegram.await_message(OWNER, "the answer", |posted| posted.text() == "new");
    assert_eq!(asked(&server, "telegram:42"), ["!say new"]);
    // It was answered by now.
    telegram.edit(message, OWNER, "!say newer");
    telegram.await_confirmation();
    telegram.say(OWNER, "!say next");
    telegram.await_message(OWNER, "the next answer", |posted| posted.text() == "next");
    let told = asked(&server, "telegram:42").pop().unwrap_or_default();
    assert!(told.contains("corrected") && told.contains("> !say newer"), "{told}");
    telegram.say(OWNER, "!say last");
    telegram.await_message(OWNER, "the last answer", |posted| posted.text() == "last");
    assert_eq!(shown(&telegram, OWNER), ["new", "next", "last"]);
    assert_eq!(asked(&server, "telegram:42").pop().as_deref(), Some("!say last"), "told once");
    // Killed between the message and its edit, and after the edit.
    let message = telegram.say(OWNER, "!sleep 600000\n!say old");
    eventually("its turn runs", || (asked(&server, "telegram:42").len() == 4).then_some(()));
    let home = server.kill();
    telegram.edit(message, OWNER, "!sleep 3000\n!say after the kill");
    let server = start(&telegram, &home, &[]);
    telegram.await_confirmation();
    let home = server.kill();
    let server = start(&telegram, &home, &[]);
    telegram.await_message(OWNER, "the answer", |posted| posted.text() == "after the kill");
    assert_eq!(shown(&telegram, OWNER)[3..], ["after the kill"]);
    assert_eq!(asked(&server, "telegram:42")[3..], ["!sleep 3000\n!say after the kill"]);
}

#[test]
fn replies_in_a_group_refer_to_their_questions() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &[]);
    let ask = |text: &str| {
        let mention = format!("@{}", aethon_tests::telegram::BOT);
        telegram.send(
            OWNER,
            &json!({
                "chat": {"id": GROUP, "type": "supergroup"}, "text": format!("{mention} {text}"),
                "entities": [{"type": "mention", "offset": 0, "length": mention.len()}],
            }),
        )
    };
    let (first, second) = (ask("hi\n!say one"), ask("hi\n!say two"));
    let answer = |text: &str| telegram.await_message(GROUP, text, |posted| posted.text() == text).replies_to;
    assert_eq!((answer("one"), answer("two")), (Some(first), Some(second)));
    // Also after a restart.
    let third = ask("hi\n!sleep 2000\n!say three");
    eventually("its turn runs", || (asked(&server, "telegram:-100123").len() == 3).then_some(()));
    let home = server.kill();
    let _server = start(&telegram, &home, &[]);
    assert_eq!(answer("three"), Some(third));
    telegram.say(OWNER, "!say private");
    let private = telegram.await_message(OWNER, "in private", |posted| posted.text() == "private");
    assert_eq!(private.replies_to, None);
}
