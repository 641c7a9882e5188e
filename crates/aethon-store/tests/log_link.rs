//! A database and the write-ahead log beside it: recognised as belonging together or not, and never mixed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::path::{Path, PathBuf};
use std::time::Instant;

use aethon_core::session::{SessionQuery, Transcripts, TurnLog};
use aethon_core::version::Expected;
use aethon_store::{Options, Store, Upgrade, copy};
use common::*;
use rusqlite::Connection;
use tempfile::TempDir;

const S: &str = "webchat:default";

/// A database and its log as a killed program leaves them.
struct Killed {
    database: Vec<u8>,
    log: Vec<u8>,
}

impl Killed {
    /// Copies both files. A reader of the caller's keeps the log from being emptied meanwhile.
    fn of(home: &Home) -> Self {
        let log = std::fs::read(beside(&home.path(), "-wal")).unwrap();
        assert!(log.len() > 32, "the log holds something");
        Self { database: std::fs::read(home.path()).unwrap(), log }
    }

    /// Puts a database and a log into a folder of their own.
    fn put(database: &[u8], log: &[u8]) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aethon.db");
        std::fs::write(&path, database).unwrap();
        std::fs::write(beside(&path, "-wal"), log).unwrap();
        (folder, path)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// A reader that holds a snapshot, so that the log is not restarted.
fn hold(path: &Path) -> Connection {
    let reader = Connection::open(path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sessions").unwrap();
    reader
}

/// Waits until an idle store has emptied its log.
fn until_emptied(path: &Path) {
    let deadline = Instant::now() + std::time::Duration::from_secs(20);
    while std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) {
        assert!(Instant::now() < deadline, "the log was never emptied");
        std::thread::yield_now();
    }
}

/// A home, killed after each of several bursts with idle moments between.
async fn bursts(count: usize) -> (Home, Vec<Killed>) {
    let home = Home::new();
    let mut killed = Vec::new();
    for burst in 0..count {
        until_emptied(&home.path());
        let reader = hold(&home.path());
        for turn in 0..3 {
            home.turn(S, &format!("question {burst} {turn}"), "answer").await;
        }
        killed.push(Killed::of(&home));
        drop(reader);
        // A write that makes the store idle again.
        home.turn(S, "go on", "yes").await;
    }
    (home, killed)
}

fn open(path: &Path) -> Result<Store, aethon_store::Error> {
    Store::open(path, Options::default().with(|options| options.upgrade = Upgrade::Allow))
}

#[tokio::test]
async fn a_killed_program_leaves_files_that_belong_together() {
    let (_home, killed) = bursts(4).await;
    for image in &killed {
        let (_folder, path) = Killed::put(&image.database, &image.log);
        let store = open(&path).unwrap();
        assert_eq!(store.sessions(SessionQuery::newest(5)).await.unwrap().count, 1);
        store.close().await;
    }
}

#[tokio::test]
async fn a_foreign_log_is_refused_and_nothing_is_changed() {
    let (_home, ours) = bursts(4).await;
    let (_other, theirs) = bursts(1).await;
    let rows = [
        ("an older copy beside a newer log", &ours[0].database, &ours[2].log),
        ("the copy before the last beside the last log", &ours[2].database, &ours[3].log),
        ("a newer database beside an older log", &ours[3].database, &ours[1].log),
        ("the log of another home", &ours[1].database, &theirs[0].log),
    ];
    for (what, database, log) in rows {
        let (_folder, path) = Killed::put(database, log);
        let error = open(&path).expect_err(what);
        assert!(error.is_foreign_log(), "{what}: {error}");
        let text = error.to_string();
        assert!(text.contains("aethon.db-wal") && text.contains("restore"), "{text}");
        assert_eq!(
            (&std::fs::read(&path).unwrap(), &std::fs::read(beside(&path, "-wal")).unwrap()),
            (database, log)
        );
        // The remedy: without the log it opens.
        std::fs::rename(beside(&path, "-wal"), beside(&path, "-wal.old")).unwrap();
        open(&path).unwrap().close().await;
    }
}

#[tokio::test]
async fn a_database_that_was_checkpointed_in_part_or_whole_keeps_its_log() {
    let (_home, killed) = bursts(2).await;
    let image = &killed[1];
    // As if the machine had died in the middle of a checkpoint: any prefix of the log's pages is in the database.
    let page = 4096;
    for copied in 0..=(image.log.len() - 32) / (page + 24) {
        let mut database = image.database.clone();
        for frame in image.log[32..].chunks(page + 24).take(copied) {
            let number = u32::from_be_bytes(frame[..4].try_into().unwrap()) as usize;
            database.resize(database.len().max(number * page), 0);
            database[(number - 1) * page..number * page].copy_from_slice(&frame[24..]);
        }
        let (_folder, path) = Killed::put(&database, &image.log);
        open(&path).unwrap_or_else(|error| panic!("{copied} pages: {error}")).close().await;
    }
}

#[tokio::test]
async fn a_copy_made_while_the_log_grew_may_lie_beside_that_log() {
    let home = Home::new();
    until_emptied(&home.path());
    let _reader = hold(&home.path());
    home.turn(S, "first", "yes").await;
    let copied = home.folder.path().join("copy.db");
    copy::make(&home.path(), &copied, |_| true).unwrap();
    home.turn(S, "second", "yes").await;
    let image = Killed::of(&home);
    let (_folder, path) = Killed::put(&std::fs::read(&copied).unwrap(), &image.log);
    let store = open(&path).unwrap();
    assert_eq!(store.window(&session(S), 100).await.unwrap().len(), 4, "it goes on from the copy");
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
    store.close().await;
}

#[tokio::test]
async fn a_database_that_another_program_rewrote_keeps_its_log() {
    for statement in
        ["VACUUM", "CREATE INDEX by_title ON sessions (title)", "UPDATE sessions SET title = 'x'"]
    {
        let home = Home::new();
        home.turn(S, "first", "yes").await;
        home.store.close().await;
        let shell = Connection::open(home.path()).unwrap();
        shell.execute_batch(statement).unwrap();
        let image = Killed::of(&home);
        let (_folder, path) = Killed::put(&image.database, &image.log);
        open(&path).unwrap_or_else(|error| panic!("{statement}: {error}")).close().await;
        // The next log is marked, wherever the page is now.
        drop(shell);
        let store = open(&home.path()).unwrap();
        let _reader = hold(&home.path());
        store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("y"), Expected::Anything)
            .await
            .unwrap();
        let image = Killed::of(&home);
        let (_folder, path) = Killed::put(&image.database, &image.log);
        open(&path).unwrap_or_else(|error| panic!("after {statement}: {error}")).close().await;
    }
}

#[tokio::test]
async fn the_copy_of_a_migration_is_refused_beside_the_newer_log() {
    let home = Home::new();
    home.turn(S, "first", "yes").await;
    home.store.close().await;
    let old = Connection::open(home.path()).unwrap();
    old.execute_batch(BACK_TO_17).unwrap();
    old.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    drop(old);
    let store = open(&home.path()).unwrap();
    let _reader = hold(&home.path());
    store
        .patch(&session(S), &aethon_core::session::SessionPatch::title("y"), Expected::Anything)
        .await
        .unwrap();
    let image = Killed::of(&home);
    let copied = std::fs::read(beside(&home.path(), ".bak-v17")).unwrap();
    let (_folder, path) = Killed::put(&copied, &image.log);
    assert!(open(&path).unwrap_err().is_foreign_log());
    let (_folder, path) = Killed::put(&image.database, &image.log);
    open(&path).unwrap().close().await;
}

#[tokio::test]
async fn a_copy_is_one_snapshot_while_others_write() {
    let home = Home::new();
    home.turn(S, "first", "yes").await;
    let copied = home.folder.path().join("copy.db");
    let mut steps = 0;
    copy::make(&home.path(), &copied, |progress| {
        steps += 1;
        // A write between the steps neither fails nor starts the copy over.
        let writer = Connection::open(home.path()).unwrap();
        writer.execute("UPDATE sessions SET title = ?1", [steps.to_string()]).unwrap();
        progress.copied <= progress.total
    })
    .unwrap();
    let facts = copy::verify(&copied).unwrap();
    assert_eq!((facts.version, facts.problems), (copy::FORMAT, Vec::new()));
    let copied = Connection::open(&copied).unwrap();
    let title: String = copied.query_row("SELECT title FROM sessions", [], |row| row.get(0)).unwrap();
    assert!(
        !title.chars().all(|letter| letter.is_ascii_digit()),
        "the copy is of before the writes: {title}"
    );
}
