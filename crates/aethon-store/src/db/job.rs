//! The work of the writer: jobs that callers queue, and tasks that it starts by itself.

use super::sql::Sql;
use crate::error::Error;

/// Work for idle moments: does a little, in its own transaction, and returns whether more is left.
pub(crate) type IdleTask = fn(&Sql<'_>) -> Result<bool, Error>;

/// Work that the thread starts by itself.
pub(crate) struct BackgroundTasks {
    /// Run when idle.
    pub(crate) idle_tasks: &'static [IdleTask],
    /// A tiny write that tests whether a failing storage works again.
    pub(crate) probe: IdleTask,
    /// Makes room in a file that has reached its largest size.
    pub(crate) relief: Relief,
}

/// Removes what may go, until this many more pages are free. Returns whether they are.
pub(crate) type Relief = fn(&Sql<'_>, i64) -> Result<bool, Error>;

/// How soon a job is to be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitTiming {
    /// At once.
    Immediate,
    /// Within a moment, together with others if they come.
    Shared,
}

/// What happens to a background job while the storage fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnStorageFailure {
    /// It is kept and run again until it is stored.
    Retry,
    /// It is dropped, and the log says so.
    Drop,
}

/// A queued job, with its result type erased.
pub(super) trait Job: Send {
    /// Whether to run the job again after the storage failed, because no caller would retry it.
    fn is_to_be_kept(&self) -> bool {
        false
    }

    /// Runs the job and keeps its outcome.
    fn run(&mut self, sql: &Sql<'_>);

    /// Returns the error of the last run, if it failed.
    fn failure(&self) -> Option<&Error>;

    /// Makes this its outcome.
    fn fail(&mut self, error: Error);

    /// Sends the outcome, or the error of the group if its transaction failed.
    fn answer(self: Box<Self>, group: Result<(), Error>);
}
