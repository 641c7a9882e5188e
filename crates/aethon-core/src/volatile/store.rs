//! The in-memory storage itself, of which each file beside this one implements a part.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(feature = "testkit")]
use super::script::Script;
use super::tables::{SessionRow, Tables};
use jiff::SignedDuration;

use crate::clock::Clock;
use crate::error::Result;
use crate::ids::{SessionId, TurnId};
use crate::weight::Weight as _;

/// An in-memory storage, as seen by one owner of turns.
pub struct MemoryStore {
    pub(super) clock: Arc<dyn Clock>,
    tables: Arc<Mutex<Tables>>,
    pub(super) owner: u64,
    #[cfg(feature = "testkit")]
    pub(super) script: Mutex<Script>,
}

impl MemoryStore {
    /// An empty storage with this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::over(clock, Arc::default(), 0)
    }

    /// Returns the same storage as seen by another program that has it open too.
    #[must_use]
    pub fn beside(&self) -> Self {
        let owner = self.tables().next_owner();
        Self::over(self.clock.clone(), self.tables.clone(), owner)
    }

    fn over(clock: Arc<dyn Clock>, tables: Arc<Mutex<Tables>>, owner: u64) -> Self {
        Self {
            clock,
            tables,
            owner,
            #[cfg(feature = "testkit")]
            script: Mutex::default(),
        }
    }

    /// Returns whether a turn was accepted here.
    pub fn has_turn(&self, turn: &TurnId) -> bool {
        self.tables().turns.contains_key(turn)
    }

    /// Returns the sessions that this sender began.
    pub fn sessions_of(&self, sender: &str) -> Vec<SessionId> {
        let tables = self.tables();
        tables.sessions.iter().filter(|(_, row)| row.sender == sender).map(|(id, _)| id.clone()).collect()
    }

    /// Removes the runs of SOPs in a session.
    pub fn forget_runs(&self, session: &SessionId) {
        self.tables().jobs.sop_runs.retain(|run| run.session_id != *session);
    }

    /// Returns the sessions that were not used for so long.
    pub fn idle_for(&self, long: SignedDuration) -> Vec<SessionId> {
        let Ok(since) = self.clock.now().checked_sub(long) else { return Vec::new() };
        let tables = self.tables();
        tables.sessions.iter().filter(|(_, row)| row.updated_at < since).map(|(id, _)| id.clone()).collect()
    }

    /// Returns how many sessions there are, and how many bytes their messages take.
    pub fn size(&self) -> (usize, usize) {
        let tables = self.tables();
        let aside =
            |row: &SessionRow| row.versions.aside.values().map(|messages| messages.heap()).sum::<usize>();
        let bytes = tables.sessions.values().map(|row| row.messages.heap() + aside(row)).sum();
        (tables.sessions.len(), bytes)
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the tables for a method, which fails if a test wants that.
    #[cfg_attr(not(feature = "testkit"), allow(clippy::unnecessary_wraps, reason = "tests make it fail"))]
    pub(super) fn enter(&self, _method: &'static str) -> Result<MutexGuard<'_, Tables>> {
        #[cfg(feature = "testkit")]
        self.follow_script(_method)?;
        Ok(self.tables())
    }
}
