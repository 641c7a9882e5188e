//! Shared by the tests of the store: a database in a folder of its own, and short ways to write to it.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::ids::TurnId;
use aethon_core::owner::Owners;
use aethon_core::session::{Accepted, TurnLog};
use aethon_core::testkit::ManualClock;
pub use aethon_core::testkit::phrases::*;
use aethon_store::{OpenMode, Options, Store};
use jiff::SignedDuration;
use tempfile::TempDir;

/// A store with a clock that is set by hand.
pub struct Home {
    pub folder: TempDir,
    pub clock: Arc<ManualClock>,
    pub store: Store,
}

impl Home {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(start()));
        let store = Store::open(
            &folder.path().join("aethon.db"),
            options.with(|options| options.clock = clock.clone()),
        )
        .unwrap();
        Self { folder, clock, store }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("aethon.db")
    }

    pub fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// Closes the store in order, opens it again and takes over the open turns.
    pub async fn reopen(&mut self) {
        self.store.release().await.unwrap();
        self.store.close().await;
        let options = Options::default().with(|options| options.clock = self.clock.clone());
        self.store = Store::open(&self.path(), options).unwrap();
        take_over_everything(&self.store).await;
    }

    /// Closes the store and opens it again in this mode.
    pub async fn reopen_as(&mut self, mode: OpenMode) {
        self.store.close().await;
        let options = Options::default().with(|options| {
            options.clock = self.clock.clone();
            options.mode = mode;
        });
        self.store = Store::open(&self.path(), options).unwrap();
    }

    /// A whole turn: accepted, begun, answered.
    pub async fn turn(&self, session: &str, text: &str, reply: &str) -> TurnId {
        let turn = self.open_turn(session, text).await;
        self.store.finish(finish(&turn, session, reply)).await.unwrap();
        turn
    }

    /// A turn that has begun.
    pub async fn open_turn(&self, session: &str, text: &str) -> TurnId {
        let turn = TurnId::fresh();
        let accepted = self.store.accept(&turn, &say(session, text), Some(begin(text))).await.unwrap();
        assert!(matches!(accepted, Accepted::New(Some(_))));
        turn
    }

    /// Reads through a separate rusqlite connection, to look behind the traits.
    pub fn count(&self, sql: &str) -> i64 {
        rusqlite::Connection::open(self.path()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// Makes the turns of programs that are gone those of this store.
pub async fn take_over_everything(store: &Store) {
    for session in store.orphaned().await.unwrap() {
        store.take_over(&session).await.unwrap();
    }
}

/// Waits until idle moments have indexed every message.
pub fn index_everything(home: &Home) {
    until_zero(home, "SELECT (SELECT coalesce(max(id), 0) FROM messages) - indexed_through FROM search_mark");
}

/// Waits until a query says 0.
pub fn until_zero(home: &Home, query: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while home.count(query) > 0 {
        assert!(Instant::now() < deadline, "it never comes to {query} = 0");
        std::thread::yield_now();
    }
}

/// Takes a database of the current format back to format 17, as a release with that format left it.
pub const BACK_TO_17: &str =
    "DROP INDEX turns_by_version; ALTER TABLE turns DROP COLUMN version_of; DROP TABLE log_link;
    DROP TABLE binned_sessions;
    ALTER TABLE sessions DROP COLUMN model; ALTER TABLE sessions DROP COLUMN effort;
    ALTER TABLE sessions DROP COLUMN instructions; ALTER TABLE sessions DROP COLUMN folder;
    ALTER TABLE sessions DROP COLUMN pinned; ALTER TABLE sessions DROP COLUMN archived;
    ALTER TABLE sessions DROP COLUMN read_through;
    PRAGMA user_version = 17;";
