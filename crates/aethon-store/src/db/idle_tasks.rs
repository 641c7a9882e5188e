//! What the writer does when nobody waits for it.
//!
//! After writing, and once nothing has come for a moment: first the tasks of the modules above, a little at a time so
//! that a job never waits for more than one step; then the log is brought into the main file and memory is given back.

use std::time::Duration;

use super::checkpoints::Checkpoints;
use super::commits::run_idle_task;
use super::sql::Sql;
use super::writer::IdleTask;

/// How long nothing must come before a task is begun.
const PAUSE: Duration = Duration::from_millis(40);

/// Where the writer stands with them.
pub(super) struct IdleTasks {
    idle_tasks: &'static [IdleTask],
    stage: Stage,
    checkpoints: Checkpoints,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Something was written; they wait for a pause.
    Waiting,
    /// This one is being done.
    IdleTask(usize),
    /// All is done.
    Rest,
}

impl IdleTasks {
    /// Everything is looked at once after a start: a crash may have left work.
    pub(super) fn new(idle_tasks: &'static [IdleTask], checkpoints: Checkpoints) -> Self {
        Self { idle_tasks, stage: Stage::Waiting, checkpoints }
    }

    /// How long to wait for a job before the next step; for ever when nothing is to be done.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self.stage {
            Stage::Waiting => Some(PAUSE),
            Stage::IdleTask(_) => Some(Duration::ZERO),
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
        let at = if let Stage::IdleTask(at) = self.stage { at } else { 0 };
        let Some(idle_task) = self.idle_tasks.get(at) else {
            self.stage = Stage::Rest;
            self.checkpoints.tidy(sql);
            if let Err(error) = sql.connection().release_memory() {
                tracing::debug!(%error, "the page cache was not given back");
            }
            return;
        };
        let more = run_idle_task(sql, *idle_task).unwrap_or_else(|error| {
            // It is tried again after the next write; until then everything works without it.
            tracing::warn!(error = &error as &dyn std::error::Error, "an idle task of the storage failed");
            false
        });
        self.stage = Stage::IdleTask(if more { at } else { at + 1 });
    }
}
