//! Upgrading a database: permission, preconditions, and leftovers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aethon_core::history::{History, TurnVersions};
use aethon_core::ids::TurnId;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::storage::{OneshotLimit, Upkeep};
use aethon_store::{DefaultLimits, OpenMode, Options, Store, Upgrade, copy};
use common::*;
use rusqlite::Connection;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A database as version 17 left it, with one session.
async fn old() -> (TempDir, PathBuf) {
    let home = Home::new();
    home.turn("webchat:default", "an armadillo", "yes").await;
    home.store.close().await;
    let database = Connection::open(home.path()).unwrap();
    database.execute_batch(BACK_TO_17).unwrap();
    let path = home.path();
    (home.folder, path)
}

fn open(path: &Path, change: impl FnOnce(&mut Options)) -> Result<Store, aethon_store::Error> {
    let options = Options::default().with(|options| options.busy_timeout = Duration::from_millis(50));
    Store::open(path, options.with(change))
}

fn upgraded(path: &Path) -> Result<Store, aethon_store::Error> {
    open(path, |options| options.upgrade = Upgrade::Allow)
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_older_database_is_left_as_it_is_unless_an_upgrade_is_allowed() {
    let (folder, path) = old().await;
    let before = fs::read(&path).unwrap();
    for mode in [OpenMode::Guest, OpenMode::Daemon] {
        let error = open(&path, |options| options.mode = mode).unwrap_err();
        assert!(error.is_older_version());
        let text = error.to_string();
        for words in ["format 17", &format!("format {}", copy::FORMAT), "aethon-cli upgrade"] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
    }
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (before, vec!["aethon.db".to_owned()]));
    assert_eq!(copy::format(&path).unwrap(), Some(17));
    upgraded(&path).unwrap().close().await;
    assert_eq!(copy::format(&path).unwrap(), Some(copy::FORMAT));
    open(&path, |_| ()).unwrap().close().await;
}

#[tokio::test]
async fn a_database_that_another_program_has_open_is_not_upgraded() {
    let (folder, path) = old().await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; SELECT count(*) FROM sessions").unwrap();
    let error = upgraded(&path).unwrap_err();
    assert!(error.is_held(), "{error}");
    assert_eq!(copy::format(&path).unwrap(), Some(17));
    assert!(!names(folder.path()).iter().any(|name| name.contains("bak")), "{:?}", names(folder.path()));
    other.execute_batch("UPDATE sessions SET title = 'it goes on'").unwrap();
    drop(other);
    upgraded(&path).unwrap().close().await;
    let title = |path: &Path| -> String {
        Connection::open(path).unwrap().query_row("SELECT title FROM sessions", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(title(&path), "it goes on");
    assert_eq!(title(&folder.path().join("aethon.db.bak-v17")), "it goes on");
}

#[tokio::test]
async fn an_upgrade_without_room_for_the_copy_names_both_amounts() {
    let (folder, path) = old().await;
    // More than any disk has, and without using any of it.
    let size = 1 << 42;
    File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
    let error = upgraded(&path).unwrap_err();
    assert!(error.is_no_space_for_copy(), "{error}");
    let (needed, free) = ((size >> 20) + 16, copy::free_space(folder.path()).unwrap() >> 20);
    let text = error.to_string();
    assert!(text.contains(&format!("{needed} MiB")), "{text}");
    // Others write to the disk as well.
    let named: Vec<u64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(named.iter().any(|amount| amount.abs_diff(free) < 1024), "{free} is not in {text}");
    assert_eq!(names(folder.path()), ["aethon.db"]);
    assert_eq!(copy::format(&path).unwrap(), Some(17));
}

#[tokio::test]
async fn a_failed_copy_reports_the_cause_and_leaves_nothing() {
    let (folder, path) = old().await;
    // A folder with the name of the copy cannot be replaced by a file.
    fs::create_dir_all(folder.path().join("aethon.db.bak-v17/x")).unwrap();
    let text = upgraded(&path).unwrap_err().to_string();
    assert!(text.contains("aethon.db.bak-v17") && text.contains("os error"), "{text}");
    assert_eq!(names(folder.path()), ["aethon.db", "aethon.db.bak-v17"]);
    assert_eq!(copy::format(&path).unwrap(), Some(17));
}

#[tokio::test]
async fn an_incomplete_copy_is_removed_at_the_next_start() {
    let (folder, path) = old().await;
    for name in ["aethon.db.bak-v17.partial", "aethon.db.bak-v5.partial"] {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    upgraded(&path).unwrap().close().await;
    assert_eq!(names(folder.path()), ["aethon.db", "aethon.db.bak-v17"]);
    for name in ["aethon.db.bak-v17.partial", "aethon.db.bak-v17.partial-journal"] {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    open(&path, |options| options.mode = OpenMode::Daemon).unwrap().close().await;
    assert_eq!(names(folder.path()), ["aethon.db", "aethon.db.bak-v17"]);
    let copies = copy::of_upgrades(&path);
    assert_eq!(copies.len(), 1);
    assert_eq!((copies[0].version, copies[0].size > 0), (17, true));
}

#[tokio::test]
async fn default_limits_wait_for_a_week_of_uptime_after_an_upgrade() {
    let (_folder, path) = old().await;
    let store = upgraded(&path).unwrap();
    assert_eq!(store.marks().await.unwrap().defaults_wait, Some(7 * DAY));
    store.note_uptime(6 * DAY).await.unwrap();
    store.close().await;
    // Neither a restart nor the clock on the wall ends it.
    let store = open(&path, |_| ()).unwrap();
    assert_eq!(store.marks().await.unwrap().defaults_wait, Some(DAY));
    store.note_uptime(DAY).await.unwrap();
    assert_eq!(store.marks().await.unwrap().defaults_wait, None);
    store.note_uptime(DAY).await.unwrap();
    store.close().await;
    assert_eq!(open(&path, |_| ()).unwrap().marks().await.unwrap().defaults_wait, None);
    assert_eq!(
        Home::new().store.marks().await.unwrap().defaults_wait,
        None,
        "a new home has nothing to lose"
    );
}

#[tokio::test]
async fn limits_of_the_owner_hold_while_defaults_wait() {
    let (_folder, path) = old().await;
    upgraded(&path).unwrap().close().await;
    let refuses = async |defaults: DefaultLimits| {
        let store = open(&path, |options| {
            (options.max_bytes, options.defaults) = (Some(4096), defaults);
        });
        let (text, turn) = ("x".repeat(100_000), TurnId::fresh());
        let store = store.unwrap();
        let stored = store.accept(&turn, &say("webchat:default", &text), Some(begin(&text))).await;
        store.close().await;
        stored.is_err()
    };
    assert!(!refuses(DefaultLimits { file: true, oneshots: true }).await);
    assert!(refuses(DefaultLimits { file: false, oneshots: true }).await);
    let store = open(&path, |_| ()).unwrap();
    store.note_uptime(7 * DAY).await.unwrap();
    store.close().await;
    assert!(refuses(DefaultLimits { file: true, oneshots: true }).await);
}

#[tokio::test]
async fn the_owners_part_of_the_oneshot_limit_holds_while_defaults_wait() {
    const MEBIBYTE: u64 = 1 << 20;
    let (_folder, path) = old().await;
    upgraded(&path).unwrap().close().await;
    let oneshots = async || {
        let store = open(&path, |_| ()).unwrap();
        let found = store.limit_oneshots(OneshotLimit::of(u32::MAX)).await.unwrap();
        store.close().await;
        found.left
    };
    let fill = async |own: Option<u64>| {
        let store = open(&path, |options| {
            options.mode = OpenMode::Daemon;
            options.max_oneshot_bytes = Some(MEBIBYTE);
            (options.owner_oneshot_bytes, options.defaults.oneshots) = (own, true);
        });
        let store = store.unwrap();
        for number in 0..20 {
            let text = "x".repeat(200_000);
            let session = format!("webhook:{}-{number}", own.unwrap_or_default());
            let (turn, inbound) = (TurnId::fresh(), say(&session, &text).with_oneshot(true));
            store.accept(&turn, &inbound, Some(begin(&text))).await.unwrap();
            store.finish(finish(&turn, &session, "done")).await.unwrap();
        }
        store.close().await;
    };
    fill(None).await;
    assert_eq!(oneshots().await, 20);
    fill(Some(100 * MEBIBYTE)).await;
    assert_eq!(oneshots().await, 40);
    fill(Some(2 * MEBIBYTE)).await;
    assert!(oneshots().await < 20);
}

#[tokio::test]
async fn branches_of_an_older_format_become_versions() {
    let home = Home::new();
    let id = |turn: &TurnId| turn.as_str().to_owned();
    let turns = ["one", "two", "three"].map(|_| TurnId::fresh());
    let mut replaced: Option<&TurnId> = None;
    for turn in &turns {
        let start = replaced.map_or_else(|| begin(&id(turn)), |replaced| replacing(&id(turn), replaced));
        home.store.accept(turn, &say("webchat:default", "x"), Some(start)).await.unwrap();
        home.store.finish(finish(turn, "webchat:default", "yes")).await.unwrap();
        replaced = Some(turn);
    }
    home.store.close().await;
    let database = Connection::open(home.path()).unwrap();
    // Older versions named the message that took the place: the first one of the turn that came next.
    let name_taker = "UPDATE messages SET superseded_by = superseded_by + 2 WHERE superseded_by IS NOT NULL";
    assert_eq!(database.execute(name_taker, []).unwrap(), 4);
    database.execute_batch(BACK_TO_17).unwrap();
    drop(database);
    let store = upgraded(&home.path()).unwrap();
    let session = session("webchat:default");
    let versions = store.versions(&session).await.unwrap();
    assert_eq!(versions, [TurnVersions { turn: turns[2].clone(), turns: turns.to_vec() }]);
    for turn in [&turns[1], &turns[0], &turns[2], &turns[0]] {
        store.switch(&session, turn).await.unwrap();
        let messages = store.messages(&session, None, 9).await.unwrap();
        let texts: Vec<String> = messages.iter().map(aethon_core::message::Message::text).collect();
        assert_eq!(texts, [id(turn), "yes".to_owned()]);
    }
    store.close().await;
}
