//! A job: what is done when, for whom, and what becomes of a run whose time passed while the program was not running.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::cron::Cron;
use super::run::RunStatus;
use crate::error::Result;
use crate::person::Person;
use crate::sop::SopName;

/// The name of a job: 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

/// A name that no job can have.
#[derive(Debug, Clone, thiserror::Error)]
#[error("use 1 to 64 letters, digits, `-`, `_` and `.`")]
pub struct InvalidJobId;

impl JobId {
    /// Checks and wraps a name.
    pub fn parse(id: &str) -> Result<Self, InvalidJobId> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_id =
            (1..=64).contains(&id.len()) && id.bytes().all(plain) && id.bytes().any(|byte| byte != b'.');
        if is_id { Ok(Self(id.to_owned())) } else { Err(InvalidJobId) }
    }

    /// A name that no other job has.
    pub fn fresh() -> Self {
        let unique = crate::ids::unique();
        Self(format!("job-{}", &unique[unique.len() - 12..]))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for JobId {
    type Error = InvalidJobId;
    fn try_from(id: String) -> Result<Self, InvalidJobId> {
        Self::parse(&id)
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.0
    }
}

/// A timed job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its name.
    pub job_id: JobId,
    /// When it is due.
    pub timing: Timing,
    /// What it does.
    pub task: Task,
    /// The channel that gets the result.
    pub channel: String,
    /// Who gets it there; the channel's own default when absent.
    pub recipient: Option<String>,
    /// What becomes of a run that was missed.
    pub missed: Missed,
    /// How often a run that failed is tried again.
    pub retries: u32,
    /// Whether it is meant to run by itself.
    pub enabled: bool,
    /// Whether somebody has paused it meanwhile.
    #[serde(default)]
    pub paused: bool,
    /// Who made it.
    pub origin: Origin,
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Person::is_owner")]
    pub person: Person,
    /// Whether a stranger may have written what it is to do; its runs are a stranger's messages then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

impl Job {
    /// Whether it runs by itself.
    pub fn is_active(&self) -> bool {
        self.enabled && !self.paused
    }
}

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Again and again.
    Cron {
        /// The expression.
        cron: Cron,
        /// The IANA name of its time zone.
        timezone: String,
    },
    /// Once, at a time.
    Once {
        /// The time; one that has passed means as soon as possible.
        run_at: Timestamp,
    },
}

impl Timing {
    /// The first time after this one.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Once { run_at } => (*run_at > after).then_some(*run_at),
            Self::Cron { cron, timezone } => {
                // A zone that was known when the job was made may be gone from the machine's table.
                let zone = TimeZone::get(timezone).unwrap_or(TimeZone::UTC);
                cron.next_after(after, &zone)
            }
        }
    }
}

/// What a job does: a SOP, with or without input, or a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The SOP.
    pub sop_name: Option<SopName>,
    /// The prompt, or the input of the SOP.
    pub prompt: Option<String>,
}

/// What happens to a run whose time passed while the program was not running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// It is recorded as missed.
    #[default]
    Skip,
    /// It is made up once, however many were missed.
    RunOnce,
}

impl Missed {
    /// What goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "skip" => Some(Self::Skip),
            "run_once" => Some(Self::RunOnce),
            _ => None,
        }
    }
}

/// Who made a job, and so where it can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The configuration.
    Config,
    /// The owner, by the API or the terminal.
    Owner,
    /// The assistant, by its tool.
    Assistant,
}

/// A stored job and where it stands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// When it is due next; `None` if never by itself.
    pub next_run: Option<Timestamp>,
    /// When a run that failed is tried again.
    pub retry_at: Option<Timestamp>,
    /// How many retries of the last failure there were.
    pub attempt: u32,
    /// When it ran last, or should have.
    pub last_run: Option<Timestamp>,
    /// How that went.
    pub last_status: Option<RunStatus>,
    /// What was wrong with it.
    pub last_error: Option<String>,
}

impl JobRecord {
    /// A job that never ran.
    pub fn new(job: Job, next_run: Option<Timestamp>) -> Self {
        Self {
            job,
            next_run,
            retry_at: None,
            attempt: 0,
            last_run: None,
            last_status: None,
            last_error: None,
        }
    }
}

/// The storage of jobs.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// All jobs, by name.
    async fn jobs(&self) -> Result<Vec<JobRecord>>;

    /// One job.
    async fn job(&self, id: &JobId) -> Result<Option<JobRecord>>;

    /// Stores a new job. `false` when there is one of this name, or there are `most` jobs already.
    async fn add(&self, job: &Job, next_run: Option<Timestamp>, most: usize) -> Result<bool>;

    /// Puts a job in the place of the one of its name, or beside the others. What is known of its runs stays.
    async fn replace(&self, job: &Job, next_run: Option<Timestamp>) -> Result<()>;

    /// Removes a job and its runs. `false` when there is none.
    async fn remove(&self, id: &JobId) -> Result<bool>;
}
