//! What the writer does when nobody waits for it.
//!
//! After writing, and once nothing has come for a moment: first the chores of the rooms above, a little at a time so
//! that a job never waits for more than one step; then the log is brought into the main file and memory is given back.
//! Only a log that grows without any pause is checkpointed between two groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::sql::Sql;
use super::writer::{Chore, run_chore};

/// How long nothing must come before a chore is begun.
const PAUSE: Duration = Duration::from_millis(40);

/// How many pages (of 4 KiB) the log may have before it is checkpointed in the middle of work.
const LOG_PAGES: u32 = 8192;

/// Where the writer stands with its chores.
pub(super) struct Chores {
    chores: &'static [Chore],
    /// The chore to do next; all done when it is past the last one and the tidying.
    next: usize,
    /// Whether the chore before was not finished, so that it goes on without a pause.
    in_the_middle: bool,
    log_pages: Arc<AtomicU32>,
    /// What jobs wait for another process; checkpoints wait for nobody.
    busy_timeout: Duration,
}

impl Chores {
    /// Everything is to be looked at once after a start: a crash may have left work.
    pub(super) fn new(chores: &'static [Chore], log_pages: Arc<AtomicU32>, busy_timeout: Duration) -> Self {
        Self { chores, next: 0, in_the_middle: false, log_pages, busy_timeout }
    }

    /// How long to wait for a job before the next step; for ever when nothing is to be done.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self.next {
            next if next > self.chores.len() => None,
            _ if self.in_the_middle => Some(Duration::ZERO),
            _ => Some(PAUSE),
        }
    }

    /// After a group of jobs.
    pub(super) fn written(&mut self, sql: &Sql<'_>) {
        self.next = 0;
        self.in_the_middle = false;
        if self.log_pages.load(Ordering::Relaxed) >= LOG_PAGES {
            self.checkpoint(sql, "PRAGMA wal_checkpoint(PASSIVE)");
        }
    }

    /// Does one step.
    pub(super) fn step(&mut self, sql: &Sql<'_>) {
        let Some(chore) = self.chores.get(self.next) else {
            self.next = self.chores.len() + 1;
            self.in_the_middle = false;
            return self.tidy(sql);
        };
        let more = run_chore(sql, *chore).unwrap_or_else(|error| {
            // It is tried again after the next write; until then everything works without it.
            tracing::warn!(error = &error as &dyn std::error::Error, "a chore of the storage failed");
            false
        });
        self.in_the_middle = true;
        self.next += usize::from(!more);
    }

    fn tidy(&self, sql: &Sql<'_>) {
        if self.log_pages.load(Ordering::Relaxed) > 0 {
            self.checkpoint(sql, "PRAGMA wal_checkpoint(TRUNCATE)");
        }
        if let Err(error) = sql.connection().release_memory() {
            tracing::debug!(%error, "the page cache was not given back");
        }
    }

    /// Waits for nobody: what a reader still needs stays in the log until the next time. In idle moments the log is also
    /// emptied, so that nothing of a removed message is left in it.
    fn checkpoint(&self, sql: &Sql<'_>, how: &'static str) {
        let connection = sql.connection();
        let done = connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| sql.first(how, [], |_| Ok(())))
            .and_then(|_| connection.busy_timeout(self.busy_timeout));
        match done {
            Ok(()) => self.log_pages.store(0, Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "a checkpoint failed"),
        }
    }
}
