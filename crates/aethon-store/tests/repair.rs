//! Damaged databases: indexes are rebuilt, and what can be read of the rest is saved into a new file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::path::PathBuf;

use aethon_core::memory::{Memory, MemoryQuery, NewMemory};
use aethon_core::session::{SessionQuery, Transcripts, TurnLog};
use aethon_store::repair::{Repair, repair};
use aethon_store::{Options, Store};
use common::*;
use rusqlite::Connection;
use tempfile::TempDir;

const PAGE: usize = 4096;
const TURNS: usize = 300;

/// A closed database with some hundred messages and a memory.
async fn filled() -> (TempDir, PathBuf) {
    let home = Home::new();
    let long = "words ".repeat(100);
    for number in 0..TURNS {
        home.turn(&format!("webchat:s{}", number % 7), &format!("question {number} {long}"), "answer").await;
    }
    home.store.store(NewMemory::new("the armadillo is called Ada", "", "test").unwrap()).await.unwrap();
    home.store.close().await;
    let path = home.path();
    (home.folder, path)
}

/// The pages of a table or an index.
fn pages(path: &PathBuf, name: &str) -> Vec<usize> {
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT pageno FROM dbstat WHERE name = ?1 ORDER BY path").unwrap();
    query.query_map([name], |row| row.get::<_, i64>(0)).unwrap().map(|page| page.unwrap() as usize).collect()
}

/// Overwrites a page.
fn destroy(path: &PathBuf, page: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * PAGE..page * PAGE].fill(0x5a);
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn an_intact_database_is_left_alone() {
    let (folder, path) = filled().await;
    let before = std::fs::read(&path).unwrap();
    assert_eq!(repair(&path, &folder.path().join("new.db")).unwrap(), Repair::Intact);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn an_index_that_does_not_fit_its_table_is_rebuilt() {
    let (folder, path) = filled().await;
    // A row is removed while the schema does not know the index.
    let shell = |script: &str| Connection::open(&path).unwrap().execute_batch(script).unwrap();
    shell(
        "CREATE TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'messages_by_session';
        PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'messages_by_session';",
    );
    shell("DELETE FROM messages WHERE id = 9;");
    shell(
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM hidden; PRAGMA writable_schema = RESET;",
    );
    shell("DROP TABLE hidden;");
    let repaired = repair(&path, &folder.path().join("new.db")).unwrap();
    assert!(matches!(&repaired, Repair::Rebuilt(faults) if !faults.is_empty()), "{repaired:?}");
    assert_eq!(repair(&path, &folder.path().join("new.db")).unwrap(), Repair::Intact);
}

#[tokio::test]
async fn a_destroyed_index_costs_no_row() {
    let (folder, path) = filled().await;
    destroy(&path, *pages(&path, "messages_by_session").last().expect("the index"));
    let target = folder.path().join("new.db");
    let Repair::Salvaged(salvaged) = repair(&path, &target).unwrap() else { panic!("it was not salvaged") };
    assert_eq!(salvaged.lost, Vec::<String>::new());
    let store = Store::open(&target, Options::default()).unwrap();
    let mut kept = 0;
    for number in 0..7 {
        kept += store.window(&session(&format!("webchat:s{number}")), 10_000).await.unwrap().len();
    }
    assert_eq!(kept, 2 * TURNS);
    store.close().await;
}

#[tokio::test]
async fn readable_rows_of_a_damaged_table_are_saved_and_the_rest_is_reported() {
    let (folder, path) = filled().await;
    let of_messages = pages(&path, "messages");
    destroy(&path, of_messages[of_messages.len() / 2]);
    let damaged = std::fs::read(&path).unwrap();
    let target = folder.path().join("new.db");
    let Repair::Salvaged(salvaged) = repair(&path, &target).unwrap() else { panic!("it was not salvaged") };
    assert_eq!(salvaged.file, target);
    assert!(salvaged.lost.iter().any(|lost| lost.starts_with("messages: ")), "{:?}", salvaged.lost);
    assert_eq!(std::fs::read(&path).unwrap(), damaged, "the damaged file is kept as it was");

    let store = Store::open(&target, Options::default()).unwrap();
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
    assert_eq!(store.sessions(SessionQuery::newest(50)).await.unwrap().count, 7);
    let mut kept = 0;
    for number in 0..7 {
        kept += store.window(&session(&format!("webchat:s{number}")), 10_000).await.unwrap().len();
    }
    // A page holds a few messages of this length.
    assert!(kept < 2 * TURNS && kept > 2 * TURNS - 40, "{kept} messages of {}", 2 * TURNS);
    let query = MemoryQuery::new("armadillo", 5);
    assert_eq!(store.search(query).await.unwrap().len(), 1, "memories are found by words");
    store.close().await;
}
