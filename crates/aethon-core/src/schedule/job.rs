//! A job: its task, time and person, and the treatment of a run whose time passed while the program was not
//! running.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cron::Cron;
use super::job_id::JobId;
use super::run::{Due, RunStatus};
use super::zone::zone;
use crate::error::Result;
use crate::person::Person;
use crate::sop::SopName;
use crate::time::to_millisecond;
use crate::trust::Trust;
use crate::version::{Expected, Version};

/// A scheduled job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub job_id: JobId,
    /// When it is due.
    pub timing: Timing,
    /// Its task.
    pub task: Task,
    /// The channel that gets the result.
    pub channel: String,
    /// Its recipient there; the channel's own default if absent.
    pub recipient: Option<String>,
    /// What happens to a missed run.
    pub missed: Missed,
    /// How many times a failed run is retried.
    pub retries: u32,
    /// The model that works on it: a name under `[model.named]` or an id; the configured one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it should run by itself.
    pub enabled: bool,
    /// Whether it has been paused.
    #[serde(default)]
    pub paused: bool,
    /// Who created it.
    pub origin: Origin,
    /// The person it is for.
    #[serde(default, skip_serializing_if = "Person::is_owner")]
    pub person: Person,
    /// Whether a stranger may have written its task; then its runs count as messages of a stranger.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

impl Job {
    /// Returns whether it runs by itself.
    pub fn is_active(&self) -> bool {
        self.enabled && !self.paused
    }

    /// Returns its version, which its runs do not change.
    pub fn version(&self) -> Version {
        // A job that cannot be written down cannot be stored, so it is never compared.
        Version::of([&*serde_json::to_string(self).unwrap_or_default()])
    }

    /// Returns how far its runs may go: as far as the turn that made it.
    pub fn trust(&self) -> Trust {
        Trust::of(&self.person, self.untrusted)
    }
}

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Repeatedly.
    Cron {
        /// The expression.
        cron: Cron,
        /// The IANA name of its time zone.
        timezone: String,
    },
    /// Once, at a certain time.
    Once {
        /// The time; a time in the past means as soon as possible.
        run_at: Timestamp,
    },
}

impl Timing {
    /// Returns the first time after this one.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            // As it is stored: a job that was due at 12:00:00.0005 must not be due again after 12:00:00.000.
            Self::Once { run_at } => Some(to_millisecond(*run_at)).filter(|run_at| *run_at > after),
            Self::Cron { cron, timezone } => {
                // A zone that was known when the job was created may have vanished from the machine's table.
                let zone = zone(Some(timezone)).unwrap_or(TimeZone::UTC);
                cron.next_after(after, &zone)
            }
        }
    }
}

/// The task of a job: a SOP, with or without input, or a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The SOP.
    pub sop_name: Option<SopName>,
    /// The prompt, or the input of the SOP.
    pub prompt: Option<String>,
}

/// What happens to a run whose time passed while the program was not running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Missed {
    /// It is recorded as missed.
    #[default]
    Skip,
    /// It is made up for once, however many were missed.
    RunOnce,
}

impl Missed {
    /// Returns the value with this word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "skip" => Some(Self::Skip),
            "run_once" => Some(Self::RunOnce),
            _ => None,
        }
    }
}

/// Who created a job, which determines where it can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Origin {
    /// The configuration.
    Config,
    /// The owner, through the API or the terminal.
    Owner,
    /// The assistant, through its tool.
    Assistant,
}

/// A stored job with its current state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// When it is due next; `None` if it is never due by itself.
    pub next_run: Option<Timestamp>,
    /// When a failed run is retried.
    pub retry_at: Option<Timestamp>,
    /// How many times the last failure has been retried.
    pub attempt: u32,
    /// When it last ran, or should have.
    pub last_run: Option<Timestamp>,
    /// The status of that run.
    pub last_status: Option<RunStatus>,
    /// The error of that run.
    pub last_error: Option<String>,
    /// A reason why its runs will fail as things stand, for the client that adds the job. Not stored.
    pub warning: Option<String>,
}

impl JobRecord {
    /// A job that has never run.
    pub fn new(job: Job, next_run: Option<Timestamp>) -> Self {
        Self {
            job,
            next_run,
            retry_at: None,
            attempt: 0,
            last_run: None,
            last_status: None,
            last_error: None,
            warning: None,
        }
    }
}

/// Stores jobs.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// Returns all jobs, by id.
    async fn jobs(&self) -> Result<Vec<JobRecord>>;

    /// Returns one job.
    async fn job(&self, id: &JobId) -> Result<Option<JobRecord>>;

    /// Stores a new job. `false` if its id is taken, or there are `most` jobs already.
    async fn add(&self, job: &Job, next_run: Option<Timestamp>, most: usize) -> Result<bool>;

    /// Replaces the job with the same id, if it is as expected, or adds it. The state of its runs stays.
    async fn replace(&self, job: &Job, next_run: Option<Timestamp>, expected: Expected) -> Result<()>;

    /// Removes a job and its runs, if it is as expected. `false` if there is none.
    async fn remove(&self, id: &JobId, expected: Expected) -> Result<bool>;

    /// Moves a job from the times at which the caller has seen it due to others. `false` if it is gone, or its times are
    /// others by now.
    async fn reschedule(&self, id: &JobId, seen: Due, next: Due) -> Result<bool>;
}
