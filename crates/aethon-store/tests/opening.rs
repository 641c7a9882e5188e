//! Opening and closing: versions, copies, foreign files, permissions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aethon_core::embed::EmbeddingCache;
use aethon_core::ledger::{Claim, DaySpend, Ledger};
use aethon_core::session::{SessionQuery, Transcripts, TurnLog};
use aethon_core::version::Expected;
use aethon_store::{Options, Store, Upgrade};
use common::*;
use rusqlite::Connection;

const S: &str = "webchat:default";

/// The version that this program writes.
const CURRENT: i64 = 22;

/// All files of a folder, with their contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

fn open(path: &Path) -> Result<Store, aethon_store::Error> {
    Store::open(path, Options::default().with(|options| options.upgrade = Upgrade::Allow))
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_closed_store_refuses_and_leaves_one_file() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    let other = home.store.clone();
    home.store.close().await;
    home.store.close().await;
    assert!(other.window(&session(S), 1).await.unwrap_err().is_busy());
    assert!(
        other
            .patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything)
            .await
            .unwrap_err()
            .is_busy()
    );
    assert!(other.check().await.unwrap_err().is_closed());
    assert_eq!(contents(home.folder.path()).len(), 1);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_left_as_it_is() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    home.store.close().await;
    Connection::open(home.path()).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let before = contents(home.folder.path());
    let error = open(&home.path()).unwrap_err();
    assert!(error.is_newer_version());
    let text = error.to_string();
    assert!(
        text.contains("99") && text.contains(&format!("up to {CURRENT}")) && text.contains("aethon.db"),
        "{text}"
    );
    assert_eq!(contents(home.folder.path()), before);
}

#[tokio::test]
async fn a_newer_version_that_is_still_in_the_log_is_seen_too() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    home.store.close().await;
    let newer = Connection::open(home.path()).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    // As after a crash: the file and its log, without anybody who has them open.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["aethon.db", "aethon.db-wal"] {
        std::fs::copy(home.folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let before = contents(crashed.path());
    assert!(open(&crashed.path().join("aethon.db")).unwrap_err().is_newer_version());
    let after = contents(crashed.path());
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{} changed", path.display());
    }
}

#[test]
fn a_foreign_file_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path| {
        let before = std::fs::read(path).unwrap();
        assert!(open(path).unwrap_err().is_foreign_file());
        assert_eq!(std::fs::read(path).unwrap(), before);
    };
    for (name, bytes) in
        [("text", b"hello".to_vec()), ("zeros", vec![0; 8192]), ("short", b"SQLite format 3\0".to_vec())]
    {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        refused(&folder.path().join(name));
    }
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    refused(&other);
    Connection::open(&other).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
    refused(&other);
    assert!(open(folder.path()).is_err());
}

/// A database as version 1 left it: without search.
fn version_one(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(include_str!("../src/db/migrations/0001_conversations.sql")).unwrap();
    connection
        .execute_batch(
            r#"PRAGMA application_id = 0x61657468; PRAGMA user_version = 1;
            INSERT INTO sessions VALUES (1, 'webchat:old', 'webchat', 'owner', 'Old', 1, 'aethon', 0, 1000, 2000, 1);
            INSERT INTO messages (session_key, created_at, role, content)
                VALUES (1, 1000, 'user', '[{"type":"text","text":"an armadillo"}]');"#,
        )
        .unwrap();
}

#[tokio::test]
async fn an_older_version_is_copied_and_then_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    version_one(&path);
    let store = open(&path).unwrap();
    let query = SessionQuery::newest(5).with_search(Some("armadillo".into()));
    assert_eq!(store.sessions(query).await.unwrap().count, 1);
    assert_eq!(store.check().await.unwrap().version, CURRENT);
    store.close().await;

    let copy = folder.path().join("aethon.db.bak-v1");
    assert_eq!(mode(&copy), 0o600);
    let connection = Connection::open(&copy).unwrap();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let messages: i64 = connection.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!((version, messages), (1, 1));
    drop(connection);
    assert_eq!(contents(folder.path()).len(), 2, "nothing else is left behind");

    // The way back: the copy opens like any old database.
    std::fs::rename(&copy, &path).unwrap();
    open(&path).unwrap().close().await;
}

/// A database as version 2 left it: without a ledger.
fn version_two(path: &Path) {
    version_one(path);
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(include_str!("../src/db/migrations/0002_search.sql")).unwrap();
    connection.execute_batch("PRAGMA user_version = 2").unwrap();
}

#[tokio::test]
async fn a_version_without_a_ledger_is_copied_and_gets_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    version_two(&path);
    let store = open(&path).unwrap();
    assert_eq!(store.today().await.unwrap(), DaySpend::default());
    assert!(store.reserve("p", "m", Claim::exactly(1.0, 1.0)).await.unwrap().is_some());
    assert_eq!(texts(&store.window(&session("webchat:old"), 5).await.unwrap()), ["an armadillo"]);
    store.close().await;
    let connection = Connection::open(folder.path().join("aethon.db.bak-v2")).unwrap();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 2);
    assert!(connection.prepare("SELECT 1 FROM spending").is_err());
}

#[tokio::test]
async fn a_version_without_vectors_is_copied_and_keeps_its_money() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    version_two(&path);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("../src/db/migrations/0003_ledger.sql")).unwrap();
    connection
        .execute_batch("INSERT INTO reservations VALUES (1, 1000000000, 0, 5); PRAGMA user_version = 3")
        .unwrap();
    drop(connection);
    let store = open(&path).unwrap();
    assert_eq!(store.get("m", &[[7; 32]]).await.unwrap(), [None]);
    store.close().await;
    for (name, version) in [("aethon.db.bak-v3", 3), ("aethon.db", CURRENT)] {
        let connection = Connection::open(folder.path().join(name)).unwrap();
        let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        let kept: i64 =
            connection.query_row("SELECT amount FROM reservations", [], |row| row.get(0)).unwrap();
        assert_eq!((found, kept), (version, 5), "{name}");
        assert_eq!(connection.prepare("SELECT 1 FROM vectors").is_ok(), version == CURRENT, "{name}");
    }
}

#[tokio::test]
async fn an_empty_file_is_a_new_database_and_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    std::fs::write(&path, "").unwrap();
    open(&path).unwrap().close().await;
    open(&path).unwrap().close().await;
    assert_eq!(contents(folder.path()).len(), 1);
}

#[tokio::test]
async fn files_that_were_open_to_others_are_closed_to_them() {
    let home = Home::new();
    home.store.close().await;
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o644)).unwrap();
    let store = open(&home.path()).unwrap();
    store
        .patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything)
        .await
        .unwrap();
    for name in ["aethon.db", "aethon.db-wal", "aethon.db-shm"] {
        assert_eq!(mode(&home.folder.path().join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn the_integrity_check_reports_the_damage() {
    let home = Home::new();
    for n in 0..200 {
        home.turn(S, &format!("question {n}"), &"answer ".repeat(50)).await;
    }
    // The index grows in idle moments, and the file with it.
    index_everything(&home);
    let health = home.store.check().await.unwrap();
    assert_eq!((health.version, health.problems), (CURRENT, Vec::<String>::new()));
    home.store.close().await;
    let mut bytes = std::fs::read(home.path()).unwrap();
    assert_eq!(health.size, bytes.len() as u64);
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0x55);
    std::fs::write(home.path(), bytes).unwrap();
    let store = open(&home.path()).unwrap();
    match store.check().await {
        Ok(health) => assert!(!health.problems.is_empty()),
        Err(error) => assert!(error.is_damaged()),
    }
}

#[tokio::test]
async fn two_programs_that_create_the_same_database_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/aethon.db");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || open(&path).unwrap())
        })
        .collect();
    for thread in threads {
        let store = thread.join().unwrap();
        store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything)
            .await
            .unwrap();
    }
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(path.parent().unwrap().parent().unwrap()), 0o700);
}
