//! Work that takes long happens in steps: a removed session is gone at once, and the log of the database stays short.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use aethon_core::session::{Clear, SessionQuery, Transcripts, TurnLog};
use aethon_core::version::Expected;
use aethon_store::{Options, Store};
use common::*;
use rusqlite::Connection;

const S: &str = "webchat:long";

/// A checkpoint beside the writer begins at 16 MiB, and a slow disk lets the log grow meanwhile. At 48 MiB the steps wait until
/// the log is empty; the last one before that adds a few more.
const MAX_LOG: u64 = 64 << 20;

/// A closed home with one session of this many messages, each of this many words.
async fn long_session(messages: u64, words: u64) -> Home {
    let home = Home::new();
    home.turn(S, "first", "fine").await;
    home.store.close().await;
    let connection = Connection::open(home.path()).unwrap();
    let fill = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {messages}),
            w(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM w WHERE j < {words})
        INSERT INTO messages (session_key, created_at, role, content) SELECT session_key, i, 'user',
            '[{{\"type\":\"text\",\"text\":\"' || (SELECT group_concat(printf('w%d', i * 7919 % 99991 * j % 65537), ' ') FROM w)
            || '\"}}]' FROM n CROSS JOIN sessions WHERE id = '{S}';
        UPDATE sessions SET message_count = (SELECT count(*) FROM messages);"
    );
    connection.execute_batch(&fill).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    home
}

fn reopen(home: &mut Home) {
    let clock = home.clock.clone();
    home.store = Store::open(&home.path(), Options::default().with(|options| options.clock = clock)).unwrap();
}

async fn assert_gone(store: &Store) {
    assert!(store.messages(&session(S), None, 50).await.unwrap().is_empty());
    assert!(store.window(&session(S), 50).await.unwrap().is_empty());
    let mut query = SessionQuery::newest(5);
    query.search = Some("fine".into());
    assert_eq!(store.sessions(query).await.unwrap().count, 0);
}

const LEFT: &str = "SELECT count(*) FROM messages";

#[tokio::test]
async fn a_long_session_is_gone_at_once_and_its_messages_go_in_steps() {
    for how in [Clear::Delete, Clear::Reset] {
        let mut home = long_session(20_000, 3).await;
        reopen(&mut home);
        assert!(home.store.clear(&session(S), how).await.unwrap());
        assert!(home.count(LEFT) > 1_000, "what nobody sees any more need not go while somebody waits");
        assert_gone(&home.store).await;
        // Work cut off by a stop continues after the start.
        home.store.close().await;
        assert!(home.count(LEFT) > 1_000);
        reopen(&mut home);
        assert_gone(&home.store).await;
        until_zero(&home, LEFT);
        until_zero(&home, "SELECT count(*) + (SELECT erasing FROM search_mark) FROM purges");
        home.store.close().await;
    }
}

#[tokio::test]
async fn short_session_is_removed_before_the_answer() {
    let mut home = long_session(100, 3).await;
    reopen(&mut home);
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    assert_eq!(home.count(LEFT), 0);
}

#[tokio::test]
async fn removal_continues_under_constant_writes() {
    let mut home = long_session(2_000, 3).await;
    reopen(&mut home);
    home.turn("webchat:other", "x", "y").await;
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    // A step comes after at most so many commits, and each removes some dozens.
    for number in 0..20_000 {
        home.store
            .patch(
                &session("webchat:other"),
                &aethon_core::session::SessionPatch::title(format!("title {number}")),
                Expected::Anything,
            )
            .await
            .unwrap();
        if number % 100 == 0 && home.count(LEFT) == 2 {
            return;
        }
    }
    panic!("{} messages are left", home.count(LEFT));
}

fn log_size(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(0, |about| about.len())
}

/// Waits until a query says 0. Returns the greatest length of the log.
fn longest_log(home: &Home, query: &str) -> u64 {
    let (deadline, mut longest) = (Instant::now() + Duration::from_secs(120), 0);
    while home.count(query) > 0 {
        for _ in 0..100 {
            longest = longest.max(log_size(&home.path()));
            std::thread::yield_now();
        }
        assert!(Instant::now() < deadline, "it never comes to {query} = 0");
    }
    longest
}

#[tokio::test]
async fn the_log_stays_short_while_a_long_session_is_indexed_and_removed() {
    const UNINDEXED: &str =
        "SELECT (SELECT coalesce(max(id), 0) FROM messages) - indexed_through FROM search_mark";
    let mut home = long_session(4_000, 300).await;
    reopen(&mut home);
    // Something has to be written for the first idle moment to come.
    home.turn("webchat:other", "x", "y").await;
    let indexing = longest_log(&home, UNINDEXED);
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    let removing = longest_log(&home, "SELECT count(*) FROM purges");
    assert!(indexing < MAX_LOG && removing < MAX_LOG, "{indexing} and {removing} bytes");
    home.store.close().await;
}
