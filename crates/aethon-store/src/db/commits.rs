//! Runs a group of jobs in one transaction, decides what becomes of each when something fails, and updates the storage
//! health accordingly.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use aethon_core::storage::StorageHealth;

use super::capacity::Capacity;
use super::damage::note_damage;
use super::file_identity::FileIdentity;
use super::job::{BackgroundTasks, IdleTask, Job, Relief};
use super::open::Opened;
use super::sql::Sql;
use crate::error::{Error, Obstacle};

/// Maximum number of background jobs kept while the storage fails; the oldest win.
const MAX_KEPT: usize = 512;

/// Makes commits and tracks whether they succeed.
pub(super) struct Commits {
    identity: Arc<FileIdentity>,
    health: StorageHealth,
    /// A tiny write that tests whether the storage works again.
    probe: IdleTask,
    /// The largest size of the file, and what makes room once it is reached.
    capacity: Option<Capacity>,
    relief: Relief,
    /// Why nothing can be written, if the connection only reads.
    obstacle: Option<Error>,
    /// Whether the last attempt met a fault that may pass. The health does not say that once it reports damage.
    is_failing: Cell<bool>,
}

/// Result of running a group of jobs.
pub(super) struct Committed {
    /// Whether the disk had room for the writes.
    pub(super) space: DiskSpace,
    /// Jobs to run again: the storage failed and no caller is waiting who could retry.
    pub(super) kept: Vec<Box<dyn Job>>,
}

/// Whether the disk had room for the writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskSpace {
    Enough,
    Lacking,
}

impl DiskSpace {
    fn after(error: &Error) -> Self {
        if error.is_about_the_disk() { Self::Lacking } else { Self::Enough }
    }
}

/// How an attempt to commit a group ended.
enum Attempt {
    /// Everything that succeeded is stored.
    Committed,
    /// A job failed after writing, so nothing is stored; the others can be tried again.
    Spoiled(DiskSpace),
    /// The transaction itself failed; nothing is stored.
    Failed(Error),
}

impl Commits {
    pub(super) fn new(
        opened: &Opened,
        obstacle: Option<Error>,
        health: StorageHealth,
        tasks: &BackgroundTasks,
    ) -> Self {
        let (identity, capacity) = (opened.identity.clone(), opened.capacity);
        let is_failing = Cell::new(health.fault().is_some_and(|fault| !fault.is_permanent()));
        let (probe, relief) = (tasks.probe, tasks.relief);
        Self { identity, health, probe, capacity, relief, obstacle, is_failing }
    }

    /// Returns whether the connection only reads, and another has to take its place before anything can be written.
    pub(super) fn only_reads(&self) -> bool {
        self.obstacle.is_some()
    }

    /// Returns whether the database could only be read so far and can perhaps be written by now.
    pub(super) fn may_be_opened_anew(&self, path: &Path) -> bool {
        self.only_reads() && self.identity.is_in_place() && Obstacle::seems_gone(path)
    }

    /// Returns whether the last commit failed, so that the next may succeed. Damage stays, and is no reason to let everything
    /// else wait: what can be written still is.
    pub(super) fn is_failing(&self) -> bool {
        self.only_reads() || self.is_failing.get()
    }

    /// Runs jobs in one transaction and answers them.
    pub(super) fn run(&self, sql: &Sql<'_>, group: Vec<Box<dyn Job>>) -> Committed {
        let mut committed = Committed { space: DiskSpace::Enough, kept: Vec::new() };
        self.run_group(sql, group, &mut committed);
        committed
    }

    /// Checks that the files are still in place.
    pub(super) fn check_files(&self) {
        if let Err(error) = self.identity.check() {
            self.note(&error);
        }
    }

    /// Tests whether the storage accepts writes again.
    pub(super) fn try_again(&self, sql: &Sql<'_>) {
        if let Some(obstacle) = &self.obstacle {
            return self.note(obstacle);
        }
        let tried = self.identity.check().and_then(|()| in_transaction(sql, self.probe));
        match tried {
            Ok(_) => self.note_success(),
            Err(error) => self.note(&error),
        }
    }

    fn run_group(&self, sql: &Sql<'_>, mut group: Vec<Box<dyn Job>>, committed: &mut Committed) {
        match self.attempt_or_make_room(sql, &mut group) {
            Attempt::Committed => {
                self.note_success();
                group.into_iter().for_each(|job| job.answer(Ok(())));
            }
            Attempt::Failed(error) => {
                self.note(&error);
                if DiskSpace::after(&error) == DiskSpace::Lacking {
                    committed.space = DiskSpace::Lacking;
                }
                for job in group {
                    if job.is_to_be_kept() && may_pass(&error) && committed.kept.len() < MAX_KEPT {
                        committed.kept.push(job);
                    } else {
                        job.answer(Err(error.for_another()));
                    }
                }
            }
            Attempt::Spoiled(space) => {
                if space == DiskSpace::Lacking {
                    committed.space = space;
                }
                if group.len() > 1 {
                    return group.into_iter().for_each(|job| self.run_group(sql, vec![job], committed));
                }
                // A job that failed on its own is answered with its own error.
                for job in group {
                    let failed = job.failure().filter(|error| error.is_unavailable());
                    let may_pass = failed.is_some_and(may_pass);
                    if let Some(error) = failed
                        && !self.is_just_too_large(sql, error)
                    {
                        self.note(error);
                    }
                    if may_pass && job.is_to_be_kept() && committed.kept.len() < MAX_KEPT {
                        committed.kept.push(job);
                    } else {
                        job.answer(Ok(()));
                    }
                }
            }
        }
    }

    /// Runs a group. A job that does not fit into the file has room made for it and runs again; if there is none to be
    /// made, it fails for that reason and not for a full disk.
    fn attempt_or_make_room(&self, sql: &Sql<'_>, group: &mut [Box<dyn Job>]) -> Attempt {
        let attempt = self.attempt(sql, group);
        let (Attempt::Spoiled(DiskSpace::Lacking), [job], Some(capacity)) =
            (&attempt, &mut *group, self.capacity)
        else {
            return attempt;
        };
        let Some(pages) = capacity.lacking(sql, &mut **job) else {
            // The disk is full indeed. The attempt without the limit may have changed the outcome.
            return self.attempt(sql, group);
        };
        let relieved = capacity.with_headroom(sql, || in_transaction(sql, |sql| (self.relief)(sql, pages)));
        match relieved {
            Ok(true) => self.attempt(sql, group),
            Ok(false) | Err(_) => {
                job.fail(capacity.reached());
                Attempt::Spoiled(DiskSpace::Enough)
            }
        }
    }

    /// Returns whether only this write found no room in the file, and smaller ones still do.
    fn is_just_too_large(&self, sql: &Sql<'_>, error: &Error) -> bool {
        error.is_at_capacity() && in_transaction(sql, self.probe).is_ok()
    }

    fn attempt(&self, sql: &Sql<'_>, group: &mut [Box<dyn Job>]) -> Attempt {
        if let Some(obstacle) = &self.obstacle {
            return Attempt::Failed(obstacle.for_another());
        }
        if let Err(error) = self.identity.check() {
            return Attempt::Failed(error);
        }
        if let Err(error) = sql.execute("BEGIN IMMEDIATE", []) {
            return Attempt::Failed(error.into());
        }
        for job in group {
            let before = sql.connection().total_changes();
            job.run(sql);
            let touched = sql.connection().total_changes() != before || sql.connection().is_autocommit();
            if let Some(error) = job.failure()
                && (touched || error.is_unavailable())
            {
                let space = DiskSpace::after(error);
                sql.roll_back();
                return Attempt::Spoiled(space);
            }
        }
        match sql.execute("COMMIT", []) {
            Ok(_) => Attempt::Committed,
            Err(error) => {
                sql.roll_back();
                Attempt::Failed(error.into())
            }
        }
    }

    fn note(&self, error: &Error) {
        if error.is_unavailable() {
            self.is_failing.set(may_pass(error));
        }
        if error.is_damaged() {
            return note_damage(&self.health, error);
        }
        if error.is_unavailable() && self.health.failed(error.to_string()) {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "the storage fails; new messages are refused until it works again"
            );
        }
    }

    fn note_success(&self) {
        self.is_failing.set(false);
        if self.health.recovered() {
            tracing::info!("the storage works again");
        }
    }
}

/// Returns whether the same job can succeed later, while the program runs.
fn may_pass(error: &Error) -> bool {
    error.is_unavailable() && !error.is_damaged()
}

/// Runs an idle task in its own transaction. One that removes something is not stopped by a file that is full.
pub(super) fn run_idle_task(
    sql: &Sql<'_>,
    idle_task: IdleTask,
    capacity: Option<Capacity>,
) -> Result<bool, Error> {
    match (in_transaction(sql, idle_task), capacity) {
        (Err(error), Some(capacity)) if error.is_disk_full() => {
            capacity.with_headroom(sql, || in_transaction(sql, idle_task))
        }
        (done, _) => done,
    }
}

/// Runs a closure in its own transaction.
pub(crate) fn in_transaction<T>(
    sql: &Sql<'_>,
    work: impl FnOnce(&Sql<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    sql.execute("BEGIN IMMEDIATE", [])?;
    let done = work(sql).and_then(|result| {
        sql.execute("COMMIT", [])?;
        Ok(result)
    });
    if done.is_err() {
        sql.roll_back();
    }
    done
}
