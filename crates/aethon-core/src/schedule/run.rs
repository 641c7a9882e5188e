//! Runs of jobs, and the one operation that decides who runs what.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use super::job::{JobId, JobRecord};
use crate::error::Result;

/// How a run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It runs.
    Running,
    /// It went well.
    Ok,
    /// It failed.
    Error,
    /// It was left out, because the run before it had not ended.
    Skipped,
    /// The program was not running at its time.
    Missed,
}

impl RunStatus {
    const ALL: [Self; 5] = [Self::Running, Self::Ok, Self::Error, Self::Skipped, Self::Missed];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }

    /// The status that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A run, as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// Its own name.
    pub run_id: String,
    /// Its job.
    pub job_id: JobId,
    /// The time that it is the run of; `None` for one that somebody asked for.
    #[serde(rename = "due_at", serialize_with = "optional")]
    pub due: Option<Timestamp>,
    /// When it began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(serialize_with = "optional")]
    pub ended_at: Option<Timestamp>,
    /// How it went.
    pub status: RunStatus,
    /// What was wrong with it.
    pub error: Option<String>,
    /// Which retry it is; 0 for none.
    pub attempt: u32,
}

fn optional<S: serde::Serializer>(moment: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => crate::time::serialize(moment, serializer),
        None => serializer.serialize_none(),
    }
}

/// The state of a job by which the caller decided that it is due. Whoever finds another one has come second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When it was due.
    pub next_run: Option<Timestamp>,
    /// When a retry was due.
    pub retry_at: Option<Timestamp>,
}

/// The start of a run.
#[derive(Debug, Clone)]
pub struct BeginRun {
    /// The job.
    pub job: JobId,
    /// What the caller has seen of the job; `None` for a run that somebody asked for.
    pub seen: Option<Due>,
    /// When it is due next; with `seen` only.
    pub next_run: Option<Timestamp>,
    /// The run.
    pub run: RunRecord,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct EndRun {
    /// When it ended.
    pub at: Timestamp,
    /// How it ended.
    pub status: RunStatus,
    /// What was wrong.
    pub error: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<Timestamp>,
}

/// The storage of runs.
#[async_trait]
pub trait RunLog: Send + Sync {
    /// Jobs whose time or whose retry has come, the one that waits longest first.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<JobRecord>>;

    /// When the next job or retry is due.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// Records a run and moves the job on to its next time, in one transaction. Of several programs that have seen the
    /// same state of the job, one succeeds; `None` for the others. While another run of the job is open, one that was due
    /// is recorded as skipped, and one that somebody asked for is not recorded at all (`None`).
    async fn begin(&self, begin: BeginRun) -> Result<Option<RunRecord>>;

    /// Ends an open run. `false` when it is not open.
    async fn end(&self, run: &str, end: EndRun) -> Result<bool>;

    /// The open runs, oldest first.
    async fn open(&self) -> Result<Vec<RunRecord>>;

    /// The runs of a job, newest first.
    async fn runs(&self, job: &JobId, limit: usize) -> Result<Vec<RunRecord>>;
}
