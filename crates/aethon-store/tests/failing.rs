//! A storage that fails for a while: reports, kept writes and recovery.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::path::Path;
use std::time::Duration;

use aethon_core::ids::TurnId;
use aethon_core::ledger::{Ledger, LedgerEntry, WorkKind};
use aethon_core::model::Usage;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::storage::Upkeep;
use aethon_core::version::Expected;
use aethon_store::{OpenMode, Options, Store, Upgrade};
use common::*;
use rusqlite::Connection;

const S: &str = "webchat:default";

fn impatient() -> Options {
    Options::default().with(|options| options.busy_timeout = Duration::from_millis(20))
}

/// Another program that holds the file, so that every write fails.
fn held(home: &Home) -> Connection {
    let connection = Connection::open(home.path()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// Waits until the health is like this; the time limit is that of the test runner.
async fn until_healthy(store: &Store, is_healthy: bool) {
    let health = store.health();
    let mut watched = health.watch();
    watched.wait_for(|fault| fault.is_none() == is_healthy).await.unwrap();
}

fn entry(tokens: u64) -> LedgerEntry {
    LedgerEntry {
        at: "2026-02-03T04:05:06Z".parse().unwrap(),
        session: None,
        turn: None,
        provider: "p".into(),
        model: "m".into(),
        kind: WorkKind::Turn,
        usage: Usage { input_tokens: tokens, ..Usage::default() },
        saved_usd: 0.0,
        is_ok: true,
    }
}

#[tokio::test]
async fn a_failing_storage_reports_failure_and_recovery() {
    let home = Home::with(impatient());
    home.turn(S, "x", "y").await;
    assert_eq!(home.store.health().fault(), None);
    let other = held(&home);
    let error = home
        .store
        .patch(&session(S), &aethon_core::session::SessionPatch::title("z"), Expected::Anything)
        .await
        .unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    let fault = home.store.health().fault().expect("it was noticed");
    assert!(fault.message.contains("in use by another program"), "{}", fault.message);
    assert_eq!(home.store.window(&session(S), 9).await.unwrap().len(), 2, "reading goes on");
    other.execute_batch("COMMIT").unwrap();
    until_healthy(&home.store, true).await;
    assert!(
        home.store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("z"), Expected::Anything)
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn retried_background_writes_are_stored_after_recovery() {
    let home = Home::with(impatient());
    home.turn(S, "x", "y").await;
    let other = held(&home);
    for tokens in [1, 2, 4] {
        home.store.settle(None, entry(tokens)).await.unwrap();
    }
    until_healthy(&home.store, false).await;
    home.store.settle(None, entry(8)).await.unwrap();
    assert!(home.store.report(4000).await.unwrap_err().is_unavailable(), "a report that lacks them is none");
    other.execute_batch("COMMIT").unwrap();
    until_healthy(&home.store, true).await;
    let rows = home.store.report(4000).await.unwrap();
    assert_eq!((rows.len(), rows[0].requests, rows[0].usage.input_tokens), (1, 4, 15));
}

#[tokio::test]
async fn a_full_database_reports_its_limit_and_stores_smaller_writes() {
    let home = Home::with(Options::default().with(|options| options.max_bytes = Some(800 << 10)));
    let long = "word ".repeat(20_000);
    let mut stored = 0;
    let error = loop {
        let turn = TurnId::fresh();
        match home.store.accept(&turn, &say(S, &long), Some(begin(&long))).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(error.is_unavailable() && error.to_string().contains("`storage.max_mb`"), "{error}");
    assert!(stored > 0);
    // A little can be written still, so it does not last.
    until_healthy(&home.store, true).await;
    assert_eq!(home.store.window(&session(S), 99).await.unwrap().len(), stored);
}

#[tokio::test]
async fn a_file_that_was_replaced_or_removed_is_not_written_to() {
    for name in ["aethon.db", "aethon.db-wal"] {
        for is_replaced in [false, true] {
            let home = Home::new();
            home.turn(S, "x", "y").await;
            let (path, away) = (home.folder.path().join(name), home.folder.path().join("away"));
            std::fs::rename(&path, &away).unwrap();
            if is_replaced {
                std::fs::copy(&away, &path).unwrap();
            }
            let error = home
                .store
                .patch(&session(S), &aethon_core::session::SessionPatch::title("z"), Expected::Anything)
                .await
                .unwrap_err();
            let expected = if is_replaced { "was replaced while" } else { "was removed while" };
            assert!(error.is_unavailable() && error.to_string().contains(expected), "{name}: {error}");
            assert!(
                error.to_string().contains(name) && error.to_string().contains("restart aethon"),
                "{error}"
            );
            assert!(home.store.health().fault().is_some());
            // The same file at its place is no fault any more.
            std::fs::rename(&away, &path).unwrap();
            until_healthy(&home.store, true).await;
            assert!(
                home.store
                    .patch(&session(S), &aethon_core::session::SessionPatch::title("z"), Expected::Anything)
                    .await
                    .unwrap()
            );
            assert_eq!(home.store.window(&session(S), 9).await.unwrap().len(), 2);
            home.store.close().await;
        }
    }
}

#[tokio::test]
async fn another_database_at_the_same_place_is_left_as_it_is() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    let foreign = tempfile::tempdir().unwrap();
    let other = foreign.path().join("aethon.db");
    Store::open(&other, Options::default()).unwrap().close().await;
    let before = std::fs::read(&other).unwrap();
    std::fs::rename(home.path(), home.folder.path().join("away")).unwrap();
    std::fs::copy(&other, home.path()).unwrap();
    assert!(
        home.store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("z"), Expected::Anything)
            .await
            .unwrap_err()
            .is_unavailable()
    );
    home.store.close().await;
    assert_eq!(std::fs::read(home.path()).unwrap(), before);
}

fn refusal(path: &Path, mode: OpenMode) -> String {
    let error = Store::open(path, Options::default().with(|options| options.mode = mode)).unwrap_err();
    assert!(error.is_unwritable() || error.is_unavailable(), "{error}");
    error.to_string()
}

#[test]
fn a_file_that_cannot_be_written_is_refused_with_its_name_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    drop(Store::open(&path, Options::default()).unwrap());
    // In the place of the log is something that no user can write.
    std::fs::create_dir(folder.path().join("aethon.db-wal")).unwrap();
    let said = refusal(&path, OpenMode::Daemon);
    assert!(said.contains("aethon.db") && said.contains("cannot be written"), "{said}");
    assert!(said.contains("choose another home"), "{said}");
    std::fs::remove_dir(folder.path().join("aethon.db-wal")).unwrap();
    let mut permissions = path.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let is_obeyed = std::fs::OpenOptions::new().write(true).open(&path).is_err();
    if is_obeyed {
        let said = refusal(&path, OpenMode::Daemon);
        assert!(said.contains("aethon.db") && said.contains("cannot be written"), "{said}");
    }
}

#[tokio::test]
async fn a_failed_migration_reports_the_cause_and_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("../src/db/migrations/0001_conversations.sql")).unwrap();
    connection
        .execute_batch(
            "PRAGMA application_id = 0x61657468; PRAGMA user_version = 1; CREATE TABLE reservations (x);",
        )
        .unwrap();
    drop(connection);
    let options = Options::default().with(|options| options.upgrade = Upgrade::Allow);
    let said = Store::open(&path, options).unwrap_err().to_string();
    for words in ["from format 1 to ", "at step 3", "table reservations already exists", "aethon.db.bak-v1"] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    assert!(folder.path().join("aethon.db.bak-v1").exists());
    let version: i64 =
        Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1, "nothing of it was changed");
}

#[tokio::test]
async fn the_latest_time_is_remembered_and_never_falls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    let at = |time: &str| {
        let clock = aethon_core::testkit::ManualClock::at(time.parse().unwrap());
        let options = Options::default().with(|options| options.clock = std::sync::Arc::new(clock));
        Store::open(&path, options).unwrap()
    };
    let store = at("2026-02-03T04:05:06Z");
    assert_eq!(store.marks().await.unwrap().latest, None);
    store.accept(&TurnId::fresh(), &say(S, "x"), Some(begin("x"))).await.unwrap();
    let latest = store.marks().await.unwrap().latest.unwrap();
    assert!(
        latest > "2026-02-03T04:05:06Z".parse().unwrap() && latest < "2026-02-03T04:07:00Z".parse().unwrap()
    );
    store.close().await;
    let store = at("2020-01-01T00:00:00Z");
    store.accept(&TurnId::fresh(), &say(S, "x"), Some(begin("x"))).await.unwrap();
    assert_eq!(store.marks().await.unwrap().latest, Some(latest));
    store.close().await;
}
