//! Tasks of the writer for idle moments.
//!
//! Once no job has come for a moment after a write, it first runs the tasks of the other modules in small steps, so
//! that a job never waits for more than one step; then it checkpoints the log and releases memory.

use std::time::Duration;

use aethon_core::storage::StorageHealth;

use super::capacity::Capacity;
use super::checkpoints::Checkpoints;
use super::commits::run_idle_task;
use super::damage::note_damage;
use super::job::IdleTask;
use super::sql::Sql;

/// How long the writer must have been idle before a task starts.
const PAUSE: Duration = Duration::from_millis(40);

/// How many groups of jobs are committed before a task gets a step all the same: if a pause never came, removed words would
/// stay in the file.
const MAX_POSTPONED: u32 = 64;

/// Progress of the writer through the idle tasks.
pub(super) struct IdleTasks {
    idle_tasks: &'static [IdleTask],
    stage: Stage,
    checkpoints: Checkpoints,
    capacity: Option<Capacity>,
    health: StorageHealth,
    /// Groups of jobs since the last step.
    postponed: u32,
    /// The task whose turn it is if there is no pause.
    under_load: usize,
    /// Whether the log has to be emptied before the next step.
    is_log_full: bool,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Something was written; the tasks wait for a pause.
    Waiting,
    /// The task at this index is running.
    IdleTask(usize),
    /// All tasks are done.
    Rest,
}

impl IdleTasks {
    /// Starts as if something had been written: a crash may have left work behind.
    pub(super) fn new(
        idle_tasks: &'static [IdleTask],
        checkpoints: Checkpoints,
        capacity: Option<Capacity>,
        health: StorageHealth,
    ) -> Self {
        Self {
            idle_tasks,
            stage: Stage::Waiting,
            checkpoints,
            capacity,
            health,
            postponed: 0,
            under_load: 0,
            is_log_full: false,
        }
    }

    /// Returns how long to wait for a job before the next step; `None` means forever, because nothing is left to do.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self.stage {
            Stage::Waiting => Some(PAUSE),
            Stage::IdleTask(_) if self.is_log_full => Some(PAUSE),
            Stage::IdleTask(_) => Some(Duration::ZERO),
            Stage::Rest => None,
        }
    }

    /// Called after a group of jobs.
    pub(super) fn after_commit(&mut self, sql: &Sql<'_>) {
        self.stage = Stage::Waiting;
        self.checkpoints.after_commit(sql);
        self.postponed += 1;
        if self.postponed >= MAX_POSTPONED {
            self.step_under_load(sql);
        }
    }

    /// Runs a step of one task, although there is no pause. The tasks take turns.
    fn step_under_load(&mut self, sql: &Sql<'_>) {
        let at = self.under_load % self.idle_tasks.len().max(1);
        if let Some(idle_task) = self.idle_tasks.get(at)
            && !self.run(sql, *idle_task)
        {
            self.under_load = at + 1;
        }
    }

    /// Called when the disk was full. Checkpoints right away: a pause may never come, and the log may be what fills the
    /// disk.
    pub(super) fn make_room(&mut self, sql: &Sql<'_>) {
        self.stage = Stage::Waiting;
        self.checkpoints.tidy(sql);
    }

    /// Runs one step.
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
        let more = self.run(sql, *idle_task);
        self.stage = Stage::IdleTask(if more { at } else { at + 1 });
    }

    /// Runs a step of a task. Returns whether more is left of it.
    fn run(&mut self, sql: &Sql<'_>, idle_task: IdleTask) -> bool {
        self.postponed = 0;
        if self.is_log_full {
            self.is_log_full = !self.checkpoints.after_step(sql);
            return true;
        }
        let done = run_idle_task(sql, idle_task, self.capacity);
        self.is_log_full = !self.checkpoints.after_step(sql);
        done.unwrap_or_else(|error| {
            // The next write schedules it again; everything works without it until then.
            note_damage(&self.health, &error);
            tracing::warn!(error = &error as &dyn std::error::Error, "an idle task of the storage failed");
            false
        })
    }
}
