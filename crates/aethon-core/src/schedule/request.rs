//! The door for owners: what may be asked of the schedule, and the refusals.

use async_trait::async_trait;
use serde::Deserialize;

use super::job::{JobRecord, Origin};
use super::run::RunRecord;
use crate::error::Error;
use crate::person::Person;

/// A job as somebody asks for it; nothing of it is checked yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct JobRequest {
    /// Its name; one is made up when it is absent.
    pub job_id: Option<String>,
    /// When, again and again.
    pub cron: Option<String>,
    /// When, once.
    pub run_at: Option<String>,
    /// The SOP.
    pub sop_name: Option<String>,
    /// The prompt.
    pub prompt: Option<String>,
    /// Where the result goes.
    pub channel: Option<String>,
    /// To whom.
    pub recipient: Option<String>,
    /// The time zone of `cron`.
    pub timezone: Option<String>,
    /// `skip` or `run_once`.
    pub missed: Option<String>,
    /// How often a failed run is tried again.
    pub retries: Option<u32>,
    /// Whom it is for; never taken from outside.
    #[serde(skip)]
    pub person: Person,
    /// Whether a stranger may have written it.
    #[serde(skip)]
    pub untrusted: bool,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The field.
    pub field: &'static str,
    /// What is wrong with it, and what is allowed.
    pub message: String,
}

/// Why the schedule did not do something.
#[derive(Debug, thiserror::Error)]
pub enum JobRefusal {
    /// Fields are wrong.
    #[error("{}", in_one_line(.0))]
    Fields(Vec<FieldFault>),
    /// There is a job of this name, or it cannot be changed here, or it runs already: the sentence says which.
    #[error("{0}")]
    Conflict(String),
    /// There is no job of this name.
    #[error("there is no job {0:?}")]
    Unknown(String),
    /// The storage failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_one_line(faults: &[FieldFault]) -> String {
    let lines: Vec<String> =
        faults.iter().map(|fault| format!("{} {}", fault.field, fault.message)).collect();
    lines.join("; ")
}

/// The timed jobs of an assistant.
#[async_trait]
pub trait Schedule: Send + Sync {
    /// Whether jobs run by themselves.
    fn is_enabled(&self) -> bool;

    /// All jobs, by name.
    async fn jobs(&self) -> Result<Vec<JobRecord>, JobRefusal>;

    /// Takes a job in.
    async fn add(&self, request: JobRequest, origin: Origin) -> Result<JobRecord, JobRefusal>;

    /// Removes a job.
    async fn remove(&self, id: &str) -> Result<(), JobRefusal>;

    /// Pauses a job, or lets it go on. A pause outlasts a restart.
    async fn set_paused(&self, id: &str, is_paused: bool) -> Result<JobRecord, JobRefusal>;

    /// Begins a run now, besides those that are due.
    async fn run(&self, id: &str) -> Result<RunRecord, JobRefusal>;

    /// The runs of a job, newest first.
    async fn runs(&self, id: &str, limit: usize) -> Result<Vec<RunRecord>, JobRefusal>;
}

impl JobRefusal {
    /// One field is wrong.
    pub fn field(field: &'static str, message: impl Into<String>) -> Self {
        Self::Fields(vec![FieldFault { field, message: message.into() }])
    }

    /// No job has this name.
    pub fn unknown(id: impl ToString) -> Self {
        Self::Unknown(id.to_string())
    }
}
