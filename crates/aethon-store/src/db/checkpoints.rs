//! Checkpoints: copies the write-ahead log into the main file without making anybody wait for the disk.
//!
//! When idle, the writer runs them itself. Under load a separate thread copies most of the log, and the writer only
//! finishes the rest: SQLite restarts the log only after a checkpoint that copied all of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::connection::connect;
use super::file_identity::FileIdentity;
use super::open::Settings;
use super::sql::Sql;
use crate::error::Error;

/// Pages (of 4 KiB) the log may grow by before it is checkpointed under load.
const LOG_PAGES: u32 = 4096;

/// Length of the log at which work that no caller waits for pauses until the log has been emptied: 48 MiB. A step of such work
/// adds a few more.
const MAX_LOG_PAGES: u32 = 3 * LOG_PAGES;

/// Tracks the size of the log and decides when to checkpoint.
pub(super) struct Checkpoints {
    settings: Settings,
    identity: Arc<FileIdentity>,
    /// Length of the log after the latest commit.
    pages: Arc<AtomicU32>,
    /// Log length at which the next checkpoint is due.
    due_at: u32,
    /// The thread running a checkpoint beside the writer; joined before the next checkpoint or at shutdown.
    running: Option<JoinHandle<()>>,
}

impl Checkpoints {
    pub(super) fn new(settings: Settings, identity: Arc<FileIdentity>, pages: Arc<AtomicU32>) -> Self {
        Self { settings, identity, pages, due_at: LOG_PAGES, running: None }
    }

    /// Called after every commit: starts or finishes a checkpoint if one is due.
    pub(super) fn after_commit(&mut self, sql: &Sql<'_>) {
        let pages = self.pages.load(Ordering::Relaxed);
        if self.running.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join();
            self.run_here(sql, "PRAGMA wal_checkpoint(PASSIVE)");
            // If a reader kept the log from restarting, let it grow by as much again.
            self.due_at = pages.saturating_add(LOG_PAGES);
        } else if pages < LOG_PAGES {
            self.due_at = LOG_PAGES;
        } else if pages >= self.due_at && self.running.is_none() {
            self.begin_beside();
        }
    }

    /// Called after each step of work that no caller waits for. Returns whether the next step may follow: if the log is too long,
    /// it is emptied first, which readers can delay.
    pub(super) fn after_step(&mut self, sql: &Sql<'_>) -> bool {
        if self.pages.load(Ordering::Relaxed) < MAX_LOG_PAGES {
            self.after_commit(sql);
            return true;
        }
        self.join();
        if self.empty(sql) {
            self.due_at = LOG_PAGES;
            return true;
        }
        false
    }

    /// Empties the log without waiting for readers. Returns whether that succeeded.
    fn empty(&self, sql: &Sql<'_>) -> bool {
        const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
        let connection = sql.connection();
        let tried = connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| sql.first(EMPTY, [], |row| row.get::<_, bool>(0)));
        let is_empty = matches!(tried, Ok(Some(false)));
        if is_empty {
            self.pages.store(0, Ordering::Relaxed);
        }
        if let Err(error) = tried.and_then(|_| connection.busy_timeout(self.settings.busy_timeout)) {
            tracing::warn!(%error, "a checkpoint failed; the log of the database grows until one succeeds");
        }
        is_empty
    }

    /// Called when idle: also truncates the log, so that no trace of a removed message is left in it.
    pub(super) fn tidy(&mut self, sql: &Sql<'_>) {
        self.join();
        if self.pages.swap(0, Ordering::Relaxed) > 0 {
            self.run_here(sql, "PRAGMA wal_checkpoint(TRUNCATE)");
            self.due_at = LOG_PAGES;
        }
    }

    /// Runs a checkpoint without waiting for readers: pages that a reader still needs stay in the log until next time.
    fn run_here(&self, sql: &Sql<'_>, how: &'static str) {
        let connection = sql.connection();
        let done = connection.busy_timeout(Duration::ZERO).and_then(|()| sql.first(how, [], |_| Ok(())));
        if let Err(error) = done.and_then(|_| connection.busy_timeout(self.settings.busy_timeout)) {
            tracing::warn!(%error, "a checkpoint failed; the log of the database grows until one succeeds");
        }
    }

    fn begin_beside(&mut self) {
        let (settings, identity) = (self.settings.clone(), self.identity.clone());
        let work = move || {
            if let Err(error) = checkpoint(&settings, &identity) {
                tracing::warn!(%error, "a checkpoint beside the writer failed");
            }
        };
        match std::thread::Builder::new().name("store-checkpoint".into()).spawn(work) {
            Ok(thread) => self.running = Some(thread),
            Err(error) => tracing::warn!(%error, "no thread for a checkpoint"),
        }
    }

    fn join(&mut self) {
        if self.running.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("a checkpoint beside the writer panicked");
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.join();
    }
}

fn checkpoint(settings: &Settings, identity: &FileIdentity) -> Result<(), Error> {
    // If the file was replaced, the log at this path belongs to the new one and is not ours to touch.
    identity.check()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = connect(&settings.path, flags, Duration::ZERO)?;
    connection.execute_batch("PRAGMA cache_size = -64;")?;
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}
