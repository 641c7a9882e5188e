//! Where runs are stored, with the one operation that decides who runs what.

use async_trait::async_trait;
use jiff::Timestamp;

use super::job::JobRecord;
use super::job_id::JobId;
use super::run::{BeginRun, EndRun, RunRecord};
use crate::error::Result;

/// Stores runs.
#[async_trait]
pub trait RunLog: Send + Sync {
    /// Returns jobs whose time or retry has come, the longest due first.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<JobRecord>>;

    /// Returns when the next job or retry is due.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// Records a run and moves the job on to its next time, in one transaction. Of several programs that have seen the
    /// same state of the job, one succeeds; the others get `None`. While another run of the job is open, a due run is
    /// recorded as skipped, and a requested run is not recorded at all (`None`).
    async fn begin(&self, begin: BeginRun) -> Result<Option<RunRecord>>;

    /// Ends an open run. `false` if it is not open.
    async fn end(&self, run: &str, end: EndRun) -> Result<bool>;

    /// Returns the open runs, oldest first.
    async fn open(&self) -> Result<Vec<RunRecord>>;

    /// Returns the runs of a job, newest first.
    async fn runs(&self, job: &JobId, limit: usize) -> Result<Vec<RunRecord>>;

    /// Notes that a scheduler has seen everything that was due up to this time (`None`: notes nothing), and returns the
    /// time that was noted before. A run that was seen and could not begin yet waits; a restart does not make it
    /// missed.
    async fn note_seen(&self, through: Option<Timestamp>) -> Result<Option<Timestamp>>;
}
