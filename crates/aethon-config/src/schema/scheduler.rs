//! `[scheduler]`: scheduled jobs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduled jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scheduler {
    /// Whether scheduled jobs run.
    pub enabled: bool,
    /// The channel for results of jobs that name none.
    pub default_channel: String,
    /// The maximum number of jobs created per day by turns that the owner did not begin: webhooks, guests, other household
    /// members, and their jobs. Ten times as many may exist.
    pub max_stranger_jobs: u32,
    /// Jobs by name.
    pub jobs: BTreeMap<String, Job>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            enabled: true,
            default_channel: "webchat".to_owned(),
            max_stranger_jobs: 20,
            jobs: BTreeMap::new(),
        }
    }
}

/// How a run is treated whose time passed while the service was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// It is marked as missed and skipped.
    #[default]
    Skip,
    /// It runs once at the next start, however often it was missed.
    RunOnce,
}

/// A scheduled job: a SOP or a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Job {
    /// Whether the job runs.
    pub enabled: bool,
    /// The schedule, as five cron fields or a word such as `@daily`.
    pub cron: String,
    /// The SOP to run.
    pub sop_name: Option<String>,
    /// The prompt to run, or the input of the SOP.
    pub prompt: Option<String>,
    /// The channel for the result. Unset: `scheduler.default_channel`.
    pub channel: Option<String>,
    /// The recipient on that channel. Unset: its default recipient.
    pub recipient: Option<String>,
    /// The time zone of `cron`, such as `Europe/Berlin`. Unset: the machine's.
    pub timezone: Option<String>,
    /// How a run is treated whose time passed while the service was down.
    pub missed: Missed,
    /// How often a failed run is retried; each retry is a separate run.
    pub retries: u32,
    /// The model that works on it: a name under `[model.named]` or an id. Unset: the configured one.
    pub model: Option<String>,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            enabled: true,
            cron: String::new(),
            sop_name: None,
            prompt: None,
            channel: None,
            recipient: None,
            timezone: None,
            missed: Missed::default(),
            retries: 0,
            model: None,
        }
    }
}
