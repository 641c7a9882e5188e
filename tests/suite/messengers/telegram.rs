//! The owner on Telegram (docs/channels.md), against a Bot API that is as strict as the real one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_tests::telegram::{TOKEN, Telegram};
use aethon_tests::{Server, eventually, home, run_cli};
use serde_json::{Value, json};
use tempfile::TempDir;

const OWNER: i64 = 42;
const STRANGER: i64 = 666;

fn start(telegram: &Telegram, home: &Arc<TempDir>, more: &[&str]) -> Server {
    let settings = telegram.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    server
}

fn allowed() -> [&'static str; 1] {
    ["security.allowed_senders.telegram=[42]"]
}

/// Everything below the home, and the server's output, without the token.
fn assert_no_token(home: &Path) {
    let found =
        std::process::Command::new("grep").args(["-rl", TOKEN]).arg(home).output().expect("grep runs");
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    let errors = std::fs::read_to_string(home.with_extension("stderr")).unwrap_or_default();
    assert!(!errors.contains(TOKEN), "{errors}");
}

#[test]
fn a_message_is_answered_once_through_edits_repeats_and_a_crash() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &allowed());
    let first = telegram.say(OWNER, "!stream 40 100\n!say The **end** with `code`.");
    telegram.await_message(OWNER, "the reply grows", |posted| posted.texts.len() > 1);
    // In the middle of the reply.
    let home = server.kill();
    let server = start(&telegram, &home, &allowed());
    telegram.repeat(first, OWNER, "!stream 40 100\n!say The **end** with `code`.");
    let told = telegram
        .await_message(OWNER, "the reply is whole", |posted| posted.text().ends_with("The end with code."));
    assert!(told.texts.len() > 1, "it grew: {told:?}");
    assert_eq!(told.entities.len(), 2, "{told:?}");
    telegram.say(OWNER, "!say second");
    telegram.await_message(OWNER, "the next is answered", |posted| posted.text() == "second");
    assert_eq!(telegram.chat(OWNER).len(), 2, "{:?}", telegram.chat(OWNER));
    // A rate limit from the server is kept, and a reply is then sent once.
    telegram.refuse(1);
    telegram.say(OWNER, "!say third");
    telegram.await_message(OWNER, "the refused one comes", |posted| posted.text() == "third");
    // The arrival of this one is uncertain: it is repeated, once.
    telegram.lose_answer();
    telegram.say(OWNER, "!say fourth");
    eventually("the doubtful one comes again", || {
        let count = telegram.chat(OWNER).iter().filter(|posted| posted.text().starts_with("fourth")).count();
        (count == 2).then_some(())
    });
    telegram.say(OWNER, "/new");
    telegram.await_message(OWNER, "a new conversation", |posted| posted.text().contains("new conversation"));
    telegram.say(OWNER, "!say elsewhere");
    telegram.await_message(OWNER, "it goes on there", |posted| posted.text() == "elsewhere");
    assert_eq!(server.said("telegram:42~2").last().unwrap().1, "elsewhere");
    let row = server.feature("channel.telegram");
    assert!(row["state"] == "on" && row["detail"].as_str().unwrap().contains("@aethon_test_bot"), "{row}");
    drop(server);
    assert_no_token(home.path());
}

#[test]
fn reply_uses_drafts_and_rich_messages_where_supported() {
    let (telegram, home) = (Telegram::start(), home());
    let settings = ["channels.telegram.streaming=draft", "channels.telegram.rich=true", allowed()[0]];
    let server = start(&telegram, &home, &settings);
    telegram.say(OWNER, "!stream 40 100\n!say The **end**.");
    telegram.await_message(OWNER, "the reply", |posted| posted.text().ends_with("The end."));
    let drafts = telegram.drafts(OWNER);
    assert!(drafts.len() > 1 && drafts.iter().all(|draft| draft.0 == drafts[0].0), "{drafts:?}");
    assert!(drafts.last().unwrap().1.len() > drafts[0].1.len(), "{drafts:?}");
    telegram.say(OWNER, "!say # Prices");
    telegram.await_message(OWNER, "the heading", |posted| posted.text() == "# Prices");
    let calls = telegram.calls();
    assert!(!calls.contains(&"editMessageText".to_owned()), "{calls:?}");
    assert_eq!(telegram.chat(OWNER).len(), 2, "{:?}", telegram.chat(OWNER));
    // An older server gets one attempt for each, and then the form it knows.
    telegram.age();
    for reply in 0..2 {
        telegram.say(OWNER, &format!("!stream 40 100\n!say # End of {reply}"));
        let ending = format!("End of {reply}");
        let told = telegram.await_message(OWNER, "the reply", |posted| posted.text().ends_with(&ending));
        assert!(told.texts.len() > 1, "it grew: {told:?}");
    }
    let counts = ["sendMessageDraft", "sendRichMessage"]
        .map(|method| telegram.calls().iter().skip(calls.len()).filter(|call| *call == method).count());
    assert!(counts[0] == 1 && counts[1] <= 1, "{counts:?}");
    assert_eq!(telegram.chat(OWNER).len(), 4, "{:?}", telegram.chat(OWNER));
    drop(server);
}

#[test]
fn approval_button_works_once_and_for_the_asker_only() {
    let (telegram, home) = (Telegram::start(), home());
    let mut settings = allowed().to_vec();
    settings[0] = "security.allowed_senders.telegram=[42,43]";
    settings.push("approval.enabled=true");
    let _server = start(&telegram, &home, &settings);
    telegram.say(OWNER, "!tool shell {\"command\":\"echo pressed\"}");
    let question = telegram.await_message(OWNER, "the question", |posted| posted.buttons.len() == 2);
    assert!(question.text().contains("\"command\": \"echo pressed\""), "{question:?}");
    telegram.press(43, &question, &question.buttons[0]);
    eventually("another person is told so", || {
        telegram.answers().iter().any(|told| told.contains("Only the person")).then_some(())
    });
    telegram.press(OWNER, &question, &question.buttons[0]);
    let settled = telegram.await_message(OWNER, "the outcome", |posted| posted.text().ends_with("Approved"));
    assert!(settled.id == question.id && settled.buttons.is_empty(), "{settled:?}");
    telegram.await_message(OWNER, "the reply", |posted| {
        posted.text().contains("pressed") && posted.id != question.id
    });
    telegram.press(OWNER, &question, &question.buttons[1]);
    eventually("a second press does nothing", || {
        telegram.answers().iter().any(|told| told.contains("settled already")).then_some(())
    });
}

#[test]
fn unknown_sender_learns_nothing_before_pairing() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &[]);
    for text in ["hello", "/start", "/help", "/pair AAAAAAAA"] {
        telegram.say(STRANGER, text);
    }
    let pair = run_cli(home.path(), &["channels", "pair", "telegram", "--json"], None);
    let code: Value = serde_json::from_slice(&pair.stdout).expect("JSON");
    let code = code["code"].as_str().expect("a code").to_owned();
    telegram.say(OWNER, &format!("/start {code}"));
    telegram.await_message(OWNER, "the greeting", |posted| posted.text().starts_with("You are connected"));
    telegram.say(OWNER, "!say hi there");
    telegram.await_message(OWNER, "the reply", |posted| posted.text() == "hi there");
    assert!(telegram.chat(STRANGER).is_empty() && !telegram.calls().is_empty());
    let pairings = run_cli(home.path(), &["channels", "pairings", "--json"], None);
    let pairings: Value = serde_json::from_slice(&pairings.stdout).expect("JSON");
    assert_eq!(pairings["pairings"][0]["sender"], "42");
    let audit = server.get("/api/audit?action=pairing").json()["audit"].clone();
    assert_eq!(
        (&audit[0]["subject"], &audit[0]["outcome"], &audit[0]["by"]),
        (&"telegram/42".into(), &"paired".into(), &"42".into()),
        "{audit}"
    );
    assert!(!audit.to_string().contains(&code), "{audit}");
    let sessions: Value = server.get("/api/sessions").json();
    assert_eq!(sessions["count"], 1, "{sessions}");
    let cli = |arguments: &[&str]| run_cli(home.path(), arguments, None).status.code();
    assert_eq!(cli(&["channels", "revoke", "telegram", "42"]), Some(0));
    assert_eq!(cli(&["channels", "test", "nothing"]), Some(2));
    let settings = telegram.settings();
    let mut test = vec!["channels", "test", "telegram"];
    assert_eq!(cli(&test), Some(1), "it is off in the configuration");
    test.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    assert_eq!(cli(&test), Some(0));
    drop(server);
    assert_no_token(home.path());
}

#[test]
fn replies_quotes_links_and_places_reach_the_model() {
    let (telegram, home) = (Telegram::start(), home());
    let acknowledge = "channels.telegram.acknowledge=reaction";
    let server = start(&telegram, &home, &[allowed()[0], acknowledge]);
    let ours = json!({"message_id": 1, "chat": {"id": OWNER}, "from": {"id": 123_456, "is_bot": true}, "text": "A long report of ours."});
    let theirs = json!({
        "message_id": 2, "chat": {"id": OWNER}, "from": {"id": 77, "is_bot": false}, "text": "click here",
        "entities": [{"type": "text_link", "offset": 6, "length": 4, "url": "https://example.org/x"}],
    });
    let place = json!({"latitude": 52.52, "longitude": 13.405});
    let first = telegram.send(OWNER, &json!({"text": "explain this", "reply_to_message": ours, "quote": {"text": "long report", "position": 2}}));
    telegram.send(OWNER, &json!({"text": "is that safe?", "reply_to_message": theirs}));
    telegram.send(OWNER, &json!({"location": place, "venue": {"location": place, "title": "Alexanderplatz", "address": "Berlin"}}));
    telegram.send(OWNER, &json!({"sticker": {"file_id": "s", "emoji": "\u{1f600}"}}));
    telegram.send(OWNER, &json!({"story": {"id": 1, "chat": {"id": 7}}}));
    telegram
        .await_message(OWNER, "an answer to what cannot be read", |posted| posted.text().contains("stories"));
    eventually("all are turns", || {
        let said: String = server.said("telegram:42").into_iter().map(|(_, text)| text + "\n").collect();
        let parts = [
            "explain this",
            "> long report",
            "is that safe?",
            "click here (https://example.org/x)",
            "[Location: 52.52, 13.405, Alexanderplatz, Berlin]",
            "[Sticker: \u{1f600}]",
        ];
        parts.iter().all(|part| said.contains(part)).then_some(())
    });
    assert!(server.said("telegram:42").iter().all(|(_, text)| !text.contains("A long report of ours.")));
    eventually("the acknowledgement is taken back", || {
        let of_first: Vec<String> = telegram
            .reactions()
            .into_iter()
            .filter_map(|(message, emoji)| (message == first).then_some(emoji))
            .collect();
        (of_first == ["\u{1f440}", ""]).then_some(())
    });
    telegram.send(666, &json!({"sticker": {"file_id": "s", "emoji": "\u{1f600}"}}));
    telegram.say(OWNER, "!say the end");
    telegram.await_message(OWNER, "the end", |posted| posted.text() == "the end");
    assert!(telegram.chat(666).is_empty(), "a stranger learns nothing");
}

#[test]
fn person_who_loses_access_sees_nothing_more_of_a_running_turn() {
    let (telegram, home) = (Telegram::start(), home());
    let server = start(&telegram, &home, &["approval.enabled=true"]);
    let cli = |arguments: &[&str]| run_cli(home.path(), arguments, None);
    let pair = || {
        let pair = cli(&["channels", "pair", "telegram", "--json"]);
        let code: Value = serde_json::from_slice(&pair.stdout).expect("JSON");
        telegram.say(OWNER, &format!("/start {}", code["code"].as_str().expect("a code")));
    };
    let revoke = || assert!(cli(&["channels", "revoke", "telegram", "42"]).status.success());
    let is_over = || {
        let session = server.get("/api/sessions/telegram:42").json();
        (session["busy"] == false).then_some(())
    };
    pair();
    telegram.await_message(OWNER, "the greeting", |posted| posted.text().starts_with("You are connected"));
    telegram.say(OWNER, "!stream 2000 100\n!say the-end");
    telegram.await_message(OWNER, "the reply grows", |posted| posted.text().ends_with('…'));
    // By another program.
    revoke();
    eventually("the turn is stopped", is_over);
    let shown = telegram.chat(OWNER);
    // The next words would have come by then.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(shown.last().unwrap().texts, telegram.chat(OWNER).last().unwrap().texts);
    assert!(
        !shown.iter().any(|posted| posted.text().contains("the-end") || posted.text().contains("stopped"))
    );
    // The same with an open question. The owner sees who was not admitted.
    telegram.say(OWNER, "hello?");
    eventually("the id is shown", || {
        let told = server.get("/api/channels").json().to_string();
        told.contains("add 42 to security.allowed_senders.telegram").then_some(())
    });
    pair();
    eventually("they are admitted again", || {
        let all = telegram.chat(OWNER);
        (all.iter().filter(|posted| posted.text().starts_with("You are connected")).count() == 2)
            .then_some(())
    });
    telegram.say(OWNER, "!tool shell {\"command\":\"touch revoked-canary\"}");
    let pending = || server.get("/api/approvals").json()["approvals"].as_array().expect("a list").len();
    telegram.await_message(OWNER, "the question", |posted| posted.buttons.len() == 2);
    assert_eq!(pending(), 1);
    revoke();
    eventually("the question is closed", || (pending() == 0).then_some(()));
    eventually("the turn is over", is_over);
    assert!(!home.path().join("workspace/revoked-canary").exists());
}
