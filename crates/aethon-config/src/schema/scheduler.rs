//! `[scheduler]`: scheduled jobs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduled jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scheduler {
    /// Whether jobs run.
    pub enabled: bool,
    /// Where a job without a channel delivers.
    pub default_channel: String,
    /// How many jobs may be made within a day, all together, by turns that the owner's own words did not begin: webhooks,
    /// guests, household members who are no owners, and their jobs. Ten times as many may exist.
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

/// What happens to a run whose time passed while the service was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// It is marked as missed and left out.
    #[default]
    Skip,
    /// It runs once at the next start, however often it was missed.
    RunOnce,
}

/// A scheduled job: a SOP or a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Job {
    /// Whether it runs.
    pub enabled: bool,
    /// When, as five cron fields or `@daily` and its like.
    pub cron: String,
    /// The SOP to run.
    pub sop_name: Option<String>,
    /// The prompt to run, or the input of the SOP.
    pub prompt: Option<String>,
    /// Where the result goes. Unset: `scheduler.default_channel`.
    pub channel: Option<String>,
    /// To whom it goes on that channel.
    pub recipient: Option<String>,
    /// The time zone of `cron`, such as `Europe/Berlin`. Unset: the machine's.
    pub timezone: Option<String>,
    /// What happens to a run whose time passed while the service was down.
    pub missed: Missed,
    /// How often a run that failed is tried again; each is a run of its own.
    pub retries: u32,
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
        }
    }
}
