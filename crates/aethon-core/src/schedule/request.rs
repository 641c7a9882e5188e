//! The owner's interface to the schedule: requests and refusals.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::job::{Job, JobRecord, Missed, Origin, Timing};
use super::run::RunRecord;
use crate::error::Error;
use crate::person::Person;
use crate::version::Expected;

/// A requested job, not validated yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "NewJob")]
pub struct JobRequest {
    /// Its id; one is generated if absent.
    pub job_id: Option<String>,
    /// When to run it repeatedly.
    pub cron: Option<String>,
    /// When to run it once.
    pub run_at: Option<String>,
    /// The SOP.
    pub sop_name: Option<String>,
    /// The prompt.
    pub prompt: Option<String>,
    /// The channel that gets the result.
    pub channel: Option<String>,
    /// The recipient of the result.
    pub recipient: Option<String>,
    /// The time zone of `cron`.
    pub timezone: Option<String>,
    /// `skip` or `run_once`.
    #[schemars(extend("enum" = ["skip", "run_once", null]))]
    pub missed: Option<String>,
    /// How many times a failed run is retried.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// The model that works on it.
    pub model: Option<String>,
    /// The person it is for; never taken from outside.
    #[serde(skip)]
    pub person: Person,
    /// Whether a stranger may have written it.
    #[serde(skip)]
    pub untrusted: bool,
}

impl JobRequest {
    /// The request that would make this job again.
    pub fn of(job: &Job) -> Self {
        let missed = match job.missed {
            Missed::Skip => "skip",
            Missed::RunOnce => "run_once",
        };
        let mut request = Self {
            job_id: Some(job.job_id.as_str().to_owned()),
            sop_name: job.task.sop_name.as_ref().map(ToString::to_string),
            prompt: job.task.prompt.clone(),
            channel: Some(job.channel.clone()),
            recipient: job.recipient.clone(),
            missed: Some(missed.to_owned()),
            retries: Some(job.retries),
            model: job.model.clone(),
            person: job.person.clone(),
            untrusted: job.untrusted,
            ..Self::default()
        };
        match &job.timing {
            Timing::Once { run_at } => request.run_at = Some(run_at.to_string()),
            Timing::Cron { cron, timezone } => {
                request.cron = Some(cron.as_str().to_owned());
                request.timezone = Some(timezone.clone());
            }
        }
        request
    }
}

/// A fault of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The field.
    pub field: &'static str,
    /// The problem, and the allowed values.
    pub message: String,
}

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum JobRefusal {
    /// Fields are invalid.
    #[error("{}", in_one_line(.0))]
    Fields(Vec<FieldFault>),
    /// The id is taken, or the job cannot be changed here, or it is already running: the sentence says which.
    #[error("{0}")]
    Conflict(String),
    /// There is no job with this id.
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

/// Jobs that get another task, time or recipient and stay the same job.
#[async_trait]
pub trait JobEdits: Send + Sync {
    /// Gives the job that the request names what the request says, if it is as expected. Its origin and the person it
    /// is for stay, and so does a pause.
    async fn change(&self, request: JobRequest, expected: Expected) -> Result<JobRecord, JobRefusal>;
}

/// The scheduled jobs of an assistant.
#[async_trait]
pub trait Schedule: JobEdits {
    /// Returns whether jobs run by themselves.
    fn is_enabled(&self) -> bool;

    /// Returns all jobs, by id.
    async fn jobs(&self) -> Result<Vec<JobRecord>, JobRefusal>;

    /// Adds a job.
    async fn add(&self, request: JobRequest, origin: Origin) -> Result<JobRecord, JobRefusal>;

    /// Removes a job, if it is as expected.
    async fn remove(&self, id: &str, expected: Expected) -> Result<(), JobRefusal>;

    /// Pauses or resumes a job, if it is as expected. A pause survives a restart.
    async fn set_paused(
        &self,
        id: &str,
        is_paused: bool,
        expected: Expected,
    ) -> Result<JobRecord, JobRefusal>;

    /// Begins a run now, in addition to those that are due.
    async fn run(&self, id: &str) -> Result<RunRecord, JobRefusal>;

    /// Returns the runs of a job, newest first.
    async fn runs(&self, id: &str, limit: usize) -> Result<Vec<RunRecord>, JobRefusal>;
}

impl JobRefusal {
    /// One field is invalid.
    pub fn field(field: &'static str, message: impl Into<String>) -> Self {
        Self::Fields(vec![FieldFault { field, message: message.into() }])
    }

    /// There is no job with this id.
    pub fn unknown(id: impl ToString) -> Self {
        Self::Unknown(id.to_string())
    }
}
