//! The contract of `Transcripts`, against a real file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::time::{Duration, Instant};

use aethon_core::channel::{DeliveryOutcome, Outbox};
use aethon_core::ids::TurnId;
use aethon_core::message::Role;
use aethon_core::session::{Accepted, Clear, SessionPage, SessionQuery, Transcripts, TurnLog, TurnPhase};
use common::*;

const S: &str = "webchat:default";

async fn list(home: &Home, query: SessionQuery) -> SessionPage {
    home.store.sessions(query).await.unwrap()
}

async fn found(home: &Home, search: &str) -> Vec<String> {
    let query = SessionQuery { limit: 100, search: Some(search.into()), ..SessionQuery::default() };
    let page = list(home, query).await;
    assert_eq!(page.count, page.sessions.len() as u64);
    page.sessions.iter().map(|session| session.session_id.name().to_owned()).collect()
}

#[tokio::test]
async fn a_session_says_who_when_and_how_much() {
    let home = Home::new();
    home.advance(5);
    home.turn(S, "  \nWhat is\tthis?\nsecond line", "that").await;
    home.advance(5);
    home.turn(S, "and that?", "this").await;
    let summary = home.store.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.channel.as_str(), summary.sender.as_str()), ("webchat", "owner"));
    assert_eq!((summary.title.as_str(), summary.message_count), ("What is this?", 4));
    assert_eq!(summary.updated_at.as_second() - summary.created_at.as_second(), 5);
    assert!(!summary.agent_name.is_empty());
    assert!(home.store.session(&session("webchat:none")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_title_comes_from_the_first_message_until_a_person_gives_one() {
    let home = Home::new();
    let title = async || home.store.session(&session(S)).await.unwrap().unwrap().title;
    let first = home.turn(S, "first", "1").await;
    home.turn(S, "second", "2").await;
    assert_eq!(title().await, "first");
    let edit = TurnId::fresh();
    home.store.accept(&edit, &say(S, "edited"), Some(replacing("edited", &first))).await.unwrap();
    assert_eq!(title().await, "edited");
    assert!(home.store.rename(&session(S), "Mine").await.unwrap());
    let edit_again = TurnId::fresh();
    home.store.accept(&edit_again, &say(S, "x"), Some(replacing("x", &edit))).await.unwrap();
    assert_eq!(title().await, "Mine");
    assert!(!home.store.rename(&session("webchat:none"), "x").await.unwrap());
}

#[tokio::test]
async fn messages_are_paged_backwards() {
    let home = Home::new();
    for n in 0..4 {
        home.turn(S, &format!("q{n}"), &format!("a{n}")).await;
    }
    let page = home.store.messages(&session(S), None, 3).await.unwrap();
    assert_eq!(texts(&page), ["a2", "q3", "a3"]);
    let page = home.store.messages(&session(S), Some(page[0].id), 3).await.unwrap();
    assert_eq!(texts(&page), ["q1", "a1", "q2"]);
    assert!(home.store.messages(&session("webchat:none"), None, 3).await.unwrap().is_empty());
}

#[tokio::test]
async fn pending_turns_are_those_of_the_session() {
    let home = Home::new();
    let running = home.open_turn(S, "a").await;
    let queued = TurnId::fresh();
    home.store.accept(&queued, &say(S, "b"), None).await.unwrap();
    home.open_turn("webchat:other", "c").await;
    let pending = home.store.pending(&session(S)).await.unwrap();
    let pending: Vec<_> = pending.into_iter().map(|record| (record.turn, record.phase)).collect();
    assert_eq!(pending, [(running, TurnPhase::Running), (queued, TurnPhase::Queued)]);
    assert!(home.store.pending(&session("webchat:none")).await.unwrap().is_empty());
}

#[tokio::test]
async fn sessions_are_paged_by_last_use_and_stay_stable_when_one_moves() {
    let home = Home::new();
    for n in 0..7 {
        // Three of them at the very same moment.
        if !(3..=5).contains(&n) {
            home.advance(1);
        }
        home.turn(&format!("webchat:s{n}"), "x", "y").await;
    }
    home.turn("cli:other", "x", "y").await;
    let page = async |cursor| {
        let query =
            SessionQuery { limit: 3, cursor, channel: Some("webchat".into()), ..SessionQuery::default() };
        let page = list(&home, query).await;
        assert_eq!(page.count, 7);
        let names: Vec<_> = page.sessions.iter().map(|s| s.session_id.name().to_owned()).collect();
        (names, page.next_cursor)
    };
    let (names, cursor) = page(None).await;
    assert_eq!(names, ["s6", "s5", "s4"]);
    home.advance(1);
    home.turn("webchat:s1", "x", "y").await;
    let (names, cursor) = page(cursor).await;
    assert_eq!(names, ["s3", "s2", "s0"]);
    assert_eq!(cursor, None);

    for cursor in ["", "x", "1", "1-", "-", "1-2-3", "zz-zz", "é-1"] {
        let query = SessionQuery { limit: 3, cursor: Some(cursor.into()), ..SessionQuery::default() };
        assert!(home.store.sessions(query).await.unwrap_err().is_invalid(), "{cursor:?}");
    }
}

#[tokio::test]
async fn search_finds_titles_ids_and_words_of_messages() {
    let mut home = Home::new();
    home.turn("webchat:alpha", "How tall is the Eiffel tower?", "It is 330 metres tall, grüße.").await;
    home.advance(1);
    home.turn("webchat:beta", "Tell me about\nthe tower of 東京タワー", "It stands in Minato.").await;
    home.store.rename(&session("webchat:beta"), "Towers in Japan").await.unwrap();
    // Once as it is behind the mark of the index, and once indexed.
    for round in 0..2 {
        let expect = async |search: &str, names: &[&str]| {
            assert_eq!(found(&home, search).await, names, "{search:?} in round {round}");
        };
        expect("TOWER", &["beta", "alpha"]).await;
        expect("tow", &["beta", "alpha"]).await;
        expect("tall metres", &["alpha"]).await;
        expect("eiffel minato", &[]).await;
        expect("Grüße", &["alpha"]).await;
        expect("東京", &["beta"]).await;
        expect("japan", &["beta"]).await;
        expect("pan ers", &["beta"]).await;
        expect("chat:alp", &["alpha"]).await;
        expect("  ", &["beta", "alpha"]).await;
        expect("type", &[]).await;
        home.reopen().await;
        index_everything(&home);
    }
}

/// Waits until idle moments have indexed every message.
fn index_everything(home: &Home) {
    until_zero(home, "SELECT (SELECT coalesce(max(id), 0) FROM messages) - indexed_through FROM search_mark");
}

/// Waits until a query says 0.
fn until_zero(home: &Home, query: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while home.count(query) > 0 {
        assert!(Instant::now() < deadline, "it never comes to {query} = 0");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_typed_is_an_error_of_the_search() {
    let home = Home::new();
    home.turn(S, "quote \" star * and -minus", "x").await;
    index_everything(&home);
    for typed in [
        "\"",
        "\"\"",
        "*",
        "a*",
        "^a",
        "NEAR(",
        "NEAR(a b, 3)",
        "AND",
        "OR",
        "NOT",
        "a AND",
        "text:x",
        "(",
        ")",
        "{a}:",
        "-minus",
        "+",
        "'",
        "';--",
        "%",
        "_",
        "\\",
        "\0",
        "a\0b",
        "message_words",
        "\u{feff}",
        "हिन्दी",
        "👩‍👩‍👧",
        "e\u{301}",
        "ß",
        "İ",
        "[",
        "]",
        "\"*\"",
        "col : x",
        "\u{202e}abc",
    ] {
        let query = SessionQuery { limit: 5, search: Some(typed.into()), ..SessionQuery::default() };
        home.store.sessions(query).await.unwrap_or_else(|error| panic!("{typed:?}: {error:?}"));
    }
    found(&home, &"word ".repeat(10_000)).await;
    found(&home, &"x".repeat(1_000_000)).await;
    assert_eq!(found(&home, "-minus").await, ["default"]);
}

#[tokio::test]
async fn a_post_is_one_message_however_often_it_comes() {
    let home = Home::new();
    let post = async |key| home.store.post(&session(S), key, message(Role::Assistant, "news")).await.unwrap();
    let first = post("k").await.unwrap();
    assert_eq!(post("k").await, None);
    assert!(post("l").await.unwrap() > first);
    assert_eq!(texts(&home.store.messages(&session(S), None, 9).await.unwrap()), ["news", "news"]);
    let summary = home.store.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.message_count, summary.title.as_str(), summary.sender.as_str()), (2, "news", ""));
    home.turn(S, "thanks", "welcome").await;
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().sender, "owner");
    // Another session has keys of its own.
    let elsewhere = home.store.post(&session("webchat:b"), "k", message(Role::Assistant, "x")).await;
    assert!(elsewhere.unwrap().is_some());
}

#[tokio::test]
async fn a_reset_session_keeps_its_name_and_loses_its_messages() {
    let home = Home::new();
    let turn = home.turn(S, "my secret plan", "noted: zebra").await;
    index_everything(&home);
    assert!(home.store.clear(&session(S), Clear::Reset).await.unwrap());
    let summary = home.store.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.title.as_str(), summary.message_count), ("my secret plan", 0));
    assert!(home.store.messages(&session(S), None, 9).await.unwrap().is_empty());
    assert!(home.store.turn(&turn).await.unwrap().is_none());
    assert!(found(&home, "zebra").await.is_empty());
    let retry = home.store.accept(&TurnId::fresh(), &say(S, ""), Some(replacing("x", &turn))).await;
    assert!(retry.unwrap_err().is_not_found());
    home.turn(S, "new", "old").await;
    assert_eq!(texts(&home.store.messages(&session(S), None, 9).await.unwrap()), ["new", "old"]);
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().message_count, 2);
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_in_the_file() {
    let home = Home::new();
    let keep = home.turn("webchat:keep", "stays", "stays too").await;
    for n in 0..100 {
        home.turn(S, &format!("xylophone{n} {}", "word ".repeat(n * 20)), "quetzal").await;
    }
    index_everything(&home);
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    assert!(!home.store.clear(&session(S), Clear::Delete).await.unwrap());
    assert!(home.store.session(&session(S)).await.unwrap().is_none());
    assert!(home.store.turn(&keep).await.unwrap().is_some());
    until_zero(&home, "SELECT erasing FROM search_mark");
    home.store.close().await;
    let file = std::fs::read(home.path()).unwrap();
    for word in ["xylophone", "quetzal"] {
        assert!(
            !file.windows(word.len()).any(|bytes| bytes == word.as_bytes()),
            "{word} is still in the file"
        );
    }
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    connection
        .execute("INSERT INTO message_words (message_words) VALUES ('integrity-check')", [])
        .expect("the index is whole");
    assert_eq!(home.count("SELECT count(*) FROM messages"), 2);
}

#[tokio::test]
async fn a_message_of_a_removed_session_is_not_run_again() {
    let home = Home::new();
    let turn = TurnId::fresh();
    let inbound = say_as(S, "pay the bill", "k", Some(3600));
    home.store.accept(&turn, &inbound, Some(begin("pay the bill"))).await.unwrap();
    home.store.clear(&session(S), Clear::Delete).await.unwrap();
    // The end of the turn that was cut off has nowhere to go.
    assert!(home.store.finish(finish(&turn, S, "paid")).await.unwrap_err().is_not_found());
    let Accepted::Known(record) = home.store.accept(&TurnId::fresh(), &inbound, None).await.unwrap() else {
        panic!("it would run again");
    };
    assert_eq!((record.phase, record.inbound.text.as_str()), (TurnPhase::Done, ""));
    assert_eq!(record.reply.unwrap().text, "");
    assert!(home.store.turn(&turn).await.unwrap().is_none());
    assert!(home.store.unfinished().await.unwrap().is_empty());
    assert!(home.store.session(&session(S)).await.unwrap().is_none());
    home.advance(3600);
    let accepted = home.store.accept(&TurnId::fresh(), &inbound, None).await.unwrap();
    assert!(matches!(accepted, Accepted::New(_)));
}

#[tokio::test]
async fn a_delivery_outlives_its_session() {
    let home = Home::new();
    let turn = home.open_turn(S, "x").await;
    let mut end = finish(&turn, S, "y");
    end.deliveries = vec![delivery("first", 60), delivery("second", 60)];
    home.store.finish(end).await.unwrap();
    let due = home.store.due(start(), 9).await.unwrap();
    home.store.settle(due[0].id, DeliveryOutcome::Delivered).await.unwrap();
    home.store.clear(&session(S), Clear::Delete).await.unwrap();
    let due = home.store.due(start(), 9).await.unwrap();
    assert_eq!(due.iter().map(|d| d.content.text.as_str()).collect::<Vec<_>>(), ["second"]);
    assert_eq!(home.count("SELECT count(*) FROM outbox"), 1);
    home.store.settle(due[0].id, DeliveryOutcome::Delivered).await.unwrap();
}
