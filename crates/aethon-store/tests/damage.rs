//! Damage: rows that make no sense, pages that cannot be read, indexes that do not fit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::path::Path;

use aethon_core::history::{History, HistoryQuery};
use aethon_core::ids::TurnId;
use aethon_core::message::Block;
use aethon_core::owner::Owners;
use aethon_core::session::{Clear, SessionQuery, Transcripts, TurnLog, TurnLookup};
use aethon_core::storage::Upkeep;
use aethon_core::version::Expected;
use aethon_store::repair::{Repair, repair};
use aethon_store::{OpenMode, Options, Store};
use common::*;
use rusqlite::Connection;

const S: &str = "webchat:default";
const PAGE: usize = 4096;

fn edit(home: &Home, script: &str) {
    Connection::open(home.path()).unwrap().execute_batch(script).unwrap();
}

fn is_marked(content: &[Block]) -> bool {
    matches!(content, [Block::Notice { code, .. }] if code == "damaged")
}

/// The pages of a table or an index, those near the root first.
fn pages(path: &Path, name: &str) -> Vec<usize> {
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT pageno FROM dbstat WHERE name = ?1 ORDER BY path").unwrap();
    query.query_map([name], |row| row.get::<_, i64>(0)).unwrap().map(|page| page.unwrap() as usize).collect()
}

fn destroy(path: &Path, page: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * PAGE..page * PAGE].fill(0x5a);
    std::fs::write(path, bytes).unwrap();
}

/// A closed database with some hundred messages.
async fn filled() -> Home {
    let home = Home::new();
    let long = "words ".repeat(100);
    for number in 0..300 {
        home.turn(&format!("webchat:s{}", number % 7), &format!("question {number} {long}"), "answer").await;
    }
    home.store.close().await;
    home
}

#[tokio::test]
async fn a_damaged_row_is_marked_and_the_rest_of_its_session_stays_readable() {
    let home = Home::new();
    for text in ["alpha", "beta", "gamma", "delta"] {
        home.turn(S, text, "fine").await;
    }
    edit(
        &home,
        "UPDATE messages SET content = '[{\"type\":\"te' WHERE id = 1;
        UPDATE messages SET content = CAST(x'5bff00' AS TEXT), turn = CAST(x'ff' AS TEXT) WHERE id = 3;
        UPDATE messages SET role = CAST(x'ff' AS TEXT), model = CAST(x'ff' AS TEXT), usage = '{', stop_reason = x'ff' || ''
            WHERE id = 5;",
    );
    let read = [
        home.store.messages(&session(S), None, 50).await.unwrap(),
        home.store.window(&session(S), 50).await.unwrap(),
    ];
    for messages in read {
        assert_eq!(messages.len(), 8);
        assert!(is_marked(&messages[0].content) && is_marked(&messages[2].content), "{messages:?}");
        assert_eq!(messages[4].text(), "gamma");
        assert_eq!((messages[6].text(), messages[7].text()), ("delta".into(), "fine".into()));
    }
    let mut query = SessionQuery::newest(5);
    query.search = Some("delta".into());
    let found = home.store.sessions(query).await.unwrap();
    assert_eq!(found.count, 1);
    let query = HistoryQuery { words: "delta".into(), except: None, limit: 5, chars: 300 };
    let passages = History::search(&home.store, &session(S), query).await.unwrap();
    assert_eq!(passages.len(), 1);
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    assert_eq!(home.count("SELECT count(*) FROM messages"), 0);
}

#[tokio::test]
async fn damaged_turn_does_not_block_its_session_or_survive_deletion() {
    let mut home = Home::new();
    home.turn(S, "before", "fine").await;
    let damaged = TurnId::fresh();
    home.store.accept(&damaged, &say(S, "lost"), Some(begin("lost"))).await.unwrap();
    edit(&home, "UPDATE turns SET inbound = '{\"chan' WHERE phase = 1");
    assert_eq!(home.store.pending(&session(S)).await.unwrap().len(), 0);
    home.advance(3600);
    home.reopen_as(OpenMode::Daemon).await;
    assert_eq!(home.store.take_over(&session(S)).await.unwrap().len(), 0);
    home.turn(S, "after", "fine").await;
    let said = texts(&home.store.window(&session(S), 9).await.unwrap());
    assert_eq!(said, ["before", "fine", "lost", "after", "fine"]);
    assert!(home.store.unfinished().await.unwrap().is_empty());
    edit(&home, "UPDATE turns SET dedupe_id = id, dedupe_until = NULL");
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE inbound LIKE '%chan%' AND session_key <> 0"), 0);
}

#[tokio::test]
async fn damage_found_by_one_reader_is_reported_to_all_callers() {
    let home = filled().await;
    let pages = pages(&home.path(), "messages");
    destroy(&home.path(), pages[pages.len() / 2]);
    // A guest does not check the file when it opens it.
    let store = Store::open(&home.path(), Options::default()).unwrap();
    assert!(store.health().check().is_ok());
    let mut errors = Vec::new();
    for number in 0..7 {
        errors.extend(store.window(&session(&format!("webchat:s{number}")), 500).await.err());
    }
    let first = errors.first().expect("the page is read");
    assert!(first.is_damaged() && first.is_unavailable() && !first.is_busy(), "{first}");
    assert!(first.to_string().contains("aethon-cli doctor --repair"), "{first}");
    let refusal = store.health().check().unwrap_err();
    assert!(refusal.is_damaged());
    assert_eq!(refusal.to_string(), first.to_string());
    // Writes elsewhere in the file succeed, and end nothing of it.
    assert!(
        store
            .patch(
                &session("webchat:s0"),
                &aethon_core::session::SessionPatch::title("z"),
                Expected::Anything
            )
            .await
            .unwrap()
    );
    assert!(store.health().check().is_err());
    store.close().await;
}

fn as_daemon() -> Options {
    Options::default().with(|options| options.mode = OpenMode::Daemon)
}

#[tokio::test]
async fn a_daemon_rebuilds_damaged_indexes_when_it_starts() {
    for index in ["turns_by_session", "messages_by_session", "sessions_by_use"] {
        let home = filled().await;
        destroy(&home.path(), *pages(&home.path(), index).last().expect("the index"));
        let store = Store::open(&home.path(), as_daemon()).unwrap();
        assert_eq!(store.health().fault(), None, "{index}");
        let mut kept = 0;
        for number in 0..7 {
            kept += store.window(&session(&format!("webchat:s{number}")), 10_000).await.unwrap().len();
        }
        assert_eq!(kept, 600, "{index}");
        assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
        store.close().await;
        let repaired = repair(&home.path(), &home.folder.path().join("new.db")).unwrap();
        assert_eq!(repaired, Repair::Intact);
    }
}

#[tokio::test]
async fn a_daemon_starts_on_a_damaged_table_and_refuses_messages() {
    let home = filled().await;
    let pages = pages(&home.path(), "messages");
    destroy(&home.path(), pages[pages.len() / 2]);
    let store = Store::open(&home.path(), as_daemon()).unwrap();
    assert!(store.health().check().unwrap_err().is_damaged());
    assert_eq!(store.sessions(SessionQuery::newest(50)).await.unwrap().count, 7, "reading goes on");
    store.close().await;
}

#[tokio::test]
async fn a_daemon_starts_on_whatever_part_of_the_file_is_damaged() {
    // The index of a constraint cannot be built again without its table; marks are read before the file is checked.
    for name in ["sqlite_autoindex_marks_1", "sqlite_autoindex_sessions_1", "marks", "turns", "owners"] {
        let home = filled().await;
        let pages = pages(&home.path(), name);
        for page in &pages {
            destroy(&home.path(), *page);
        }
        if pages.is_empty() {
            continue;
        }
        let options = as_daemon().with(|options| {
            (options.max_bytes, options.defaults.file) = (Some(64 << 20), true);
        });
        let store = Store::open(&home.path(), options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(store.health().check().unwrap_err().is_damaged(), "{name}");
        assert_eq!(
            store.window(&session("webchat:s1"), 5).await.is_ok(),
            !name.contains("sessions"),
            "{name}"
        );
        store.close().await;
    }
}

#[tokio::test]
async fn idle_tasks_continue_beside_damage() {
    let mut home = filled().await;
    for page in pages(&home.path(), "memories") {
        destroy(&home.path(), page);
    }
    home.reopen_as(OpenMode::Daemon).await;
    assert!(home.store.health().check().unwrap_err().is_damaged());
    assert!(home.store.clear(&session("webchat:s1"), Clear::Delete).await.unwrap());
    until_zero(&home, "SELECT count(*) FROM purges");
    home.store.close().await;
}

/// The schema of before there was a link to the log.
const FORMER: [&str; 17] = [
    include_str!("../src/db/migrations/0001_conversations.sql"),
    include_str!("../src/db/migrations/0002_search.sql"),
    include_str!("../src/db/migrations/0003_ledger.sql"),
    include_str!("../src/db/migrations/0004_vectors.sql"),
    include_str!("../src/db/migrations/0005_saved.sql"),
    include_str!("../src/db/migrations/0006_learned.sql"),
    include_str!("../src/db/migrations/0007_delivery_files.sql"),
    include_str!("../src/db/migrations/0008_estimates.sql"),
    include_str!("../src/db/migrations/0009_owners.sql"),
    include_str!("../src/db/migrations/0010_outside.sql"),
    include_str!("../src/db/migrations/0011_marks.sql"),
    include_str!("../src/db/migrations/0012_memory.sql"),
    include_str!("../src/db/migrations/0013_audit.sql"),
    include_str!("../src/db/migrations/0014_jobs.sql"),
    include_str!("../src/db/migrations/0015_telemetry.sql"),
    include_str!("../src/db/migrations/0016_channels.sql"),
    include_str!("../src/db/migrations/0017_work.sql"),
];

#[tokio::test]
async fn damaged_database_of_an_older_format_is_salvaged() {
    for version in [1, 8, 17] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aethon.db");
        let old = Connection::open(&path).unwrap();
        for migration in &FORMER[..version] {
            old.execute_batch(migration).unwrap();
        }
        old.execute_batch(&format!(
            "PRAGMA application_id = {}; PRAGMA user_version = {version};",
            0x6165_7468
        ))
        .unwrap();
        old.execute_batch(
            "INSERT INTO sessions VALUES (1, 'webchat:default', 'webchat', '', 'A title', 2, 'aethon', 0, 5, 6, 0);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
            INSERT INTO messages (session_key, created_at, role, content) SELECT 1, i, 'user',
                '[{\"type\":\"text\",\"text\":\"' || i || hex(zeroblob(200)) || '\"}]' FROM n;",
        )
        .unwrap();
        old.close().unwrap();
        let of_messages = pages(&path, "messages");
        destroy(&path, of_messages[of_messages.len() / 2]);
        let target = folder.path().join("new.db");
        let Repair::Salvaged(salvaged) = repair(&path, &target).unwrap() else {
            panic!("it was not salvaged")
        };
        assert!(salvaged.lost.iter().all(|lost| lost.starts_with("messages: ")), "{:?}", salvaged.lost);
        let store = Store::open(&target, as_daemon()).unwrap();
        assert_eq!(store.health().fault(), None);
        let kept = store.window(&session(S), 10_000).await.unwrap().len();
        assert!((360..400).contains(&kept), "{kept} of 400 are left, format {version}");
        assert_eq!(store.session(&session(S)).await.unwrap().unwrap().title, "A title");
        assert!(store.marks().await.unwrap().defaults_wait.is_some(), "new limits wait as after an upgrade");
        store.close().await;
    }
}
