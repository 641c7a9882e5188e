//! Conversations in the file: found through the index and without it, and gone when they are removed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::ids::TurnId;
use aethon_core::session::{Clear, SessionPage, SessionQuery, Transcripts, TurnLog, TurnLookup};
use aethon_core::version::Expected;
use common::*;

const S: &str = "webchat:default";

async fn list(home: &Home, query: SessionQuery) -> SessionPage {
    home.store.sessions(query).await.unwrap()
}

async fn found(home: &Home, search: &str) -> Vec<String> {
    let query = SessionQuery::newest(100).with_search(Some(search.into()));
    let page = list(home, query).await;
    assert_eq!(page.count, page.sessions.len() as u64);
    page.sessions.iter().map(|session| session.session_id.name().to_owned()).collect()
}

#[tokio::test]
async fn search_finds_titles_ids_and_words_of_messages() {
    let mut home = Home::new();
    home.turn("webchat:alpha", "How tall is the Eiffel tower?", "It is 330 metres tall, grüße.").await;
    home.advance(1);
    home.turn("webchat:beta", "Tell me about\nthe tower of 東京タワー", "It stands in Minato.").await;
    home.store
        .patch(
            &session("webchat:beta"),
            &aethon_core::session::SessionPatch::title("Towers in Japan"),
            Expected::Anything,
        )
        .await
        .unwrap();
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

#[tokio::test(flavor = "multi_thread")]
async fn no_search_input_is_an_error() {
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
        let query = SessionQuery::newest(5).with_search(Some(typed.into()));
        home.store.sessions(query).await.unwrap_or_else(|error| panic!("{typed:?}: {error:?}"));
    }
    found(&home, &"word ".repeat(10_000)).await;
    found(&home, &"x".repeat(1_000_000)).await;
    assert_eq!(found(&home, "-minus").await, ["default"]);
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
