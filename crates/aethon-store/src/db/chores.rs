//! What the writer does when nobody waits for it.
//!
//! After writing, and once nothing has come for a moment: first the chores of the rooms above, a little at a time so
//! that a job never waits for more than one step; then the log is brought into the main file and memory is given back.

use std::time::Duration;

use super::checkpoints::Checkpoints;
use super::sql::Sql;
use super::writer::{Chore, run_chore};

/// How long nothing must come before a chore is begun.
const PAUSE: Duration = Duration::from_millis(40);

/// Where the writer stands with its chores.
pub(super) struct Chores {
    chores: &'static [Chore],
    stage: Stage,
    checkpoints: Checkpoints,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Something was written; the chores wait for a pause.
    Waiting,
    /// This chore is being done.
    Chore(usize),
    /// All is done.
    Rest,
}

impl Chores {
    /// Everything is looked at once after a start: a crash may have left work.
    pub(super) fn new(chores: &'static [Chore], checkpoints: Checkpoints) -> Self {
        Self { chores, stage: Stage::Waiting, checkpoints }
    }

    /// How long to wait for a job before the next step; for ever when nothing is to be done.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self.stage {
            Stage::Waiting => Some(PAUSE),
            Stage::Chore(_) => Some(Duration::ZERO),
            Stage::Rest => None,
        }
    }

    /// After a group of jobs.
    pub(super) fn written(&mut self, sql: &Sql<'_>) {
        self.stage = Stage::Waiting;
        self.checkpoints.written(sql);
    }

    /// After a group that the disk did not take. There may never be a pause, and the log may be what fills the disk.
    pub(super) fn make_room(&mut self, sql: &Sql<'_>) {
        self.stage = Stage::Waiting;
        self.checkpoints.tidy(sql);
    }

    /// Does one step.
    pub(super) fn step(&mut self, sql: &Sql<'_>) {
        let at = if let Stage::Chore(at) = self.stage { at } else { 0 };
        let Some(chore) = self.chores.get(at) else {
            self.stage = Stage::Rest;
            self.checkpoints.tidy(sql);
            if let Err(error) = sql.connection().release_memory() {
                tracing::debug!(%error, "the page cache was not given back");
            }
            return;
        };
        let more = run_chore(sql, *chore).unwrap_or_else(|error| {
            // It is tried again after the next write; until then everything works without it.
            tracing::warn!(error = &error as &dyn std::error::Error, "a chore of the storage failed");
            false
        });
        self.stage = Stage::Chore(if more { at } else { at + 1 });
    }
}
