//! Runs of jobs.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::job_id::JobId;
use crate::words::words;

words! {
    /// The status of a run.
    pub enum RunStatus {
        /// It is running.
        Running = "running",
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// It was skipped, because the previous run had not ended.
        Skipped = "skipped",
        /// The program was not running at its time.
        Missed = "missed",
    }
}

/// A run, as listed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "JobRun")]
pub struct RunRecord {
    /// Its id.
    pub run_id: String,
    /// Its job.
    pub job_id: JobId,
    /// The time it was due; `None` for a requested run.
    #[serde(rename = "due_at", serialize_with = "optional")]
    pub due: Option<Timestamp>,
    /// When it began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(serialize_with = "optional")]
    pub ended_at: Option<Timestamp>,
    /// Its status.
    pub status: RunStatus,
    /// Its error.
    pub error: Option<String>,
    /// Which retry it is; 0 for the first attempt.
    pub attempt: u32,
}

fn optional<S: serde::Serializer>(moment: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => crate::time::serialize(moment, serializer),
        None => serializer.serialize_none(),
    }
}

/// The times at which a job is due. A caller that concludes something from them names them again with what it does: if they
/// have changed, another program was first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When it was due.
    pub next_run: Option<Timestamp>,
    /// When a retry was due.
    pub retry_at: Option<Timestamp>,
}

/// The beginning of a run.
#[derive(Debug, Clone)]
pub struct BeginRun {
    /// The job.
    pub job: JobId,
    /// The state of the job that the caller has seen; `None` for a requested run.
    pub seen: Option<Due>,
    /// When the job is due next; only together with `seen`.
    pub next_run: Option<Timestamp>,
    /// The run.
    pub run: RunRecord,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct EndRun {
    /// When it ended.
    pub at: Timestamp,
    /// Its status.
    pub status: RunStatus,
    /// Its error.
    pub error: Option<String>,
    /// When it is retried.
    pub retry_at: Option<Timestamp>,
}
