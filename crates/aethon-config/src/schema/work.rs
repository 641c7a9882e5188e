//! `[work]`: multi-turn work, and the use of idle time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Work that takes more than one turn: planned as tasks and carried out in the background.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Work {
    /// Whether the tool `tasks` exists and planned work is carried out in the background.
    pub enabled: bool,
    /// Whether a person must approve a plan before it is carried out.
    pub approve_plan: bool,
    /// The maximum number of turns for a piece of work.
    pub max_iterations: u32,
    /// The maximum number of attempts at one task.
    pub max_attempts: u32,
    /// The maximum working time of a piece of work, in minutes.
    pub max_minutes: u32,
    /// The maximum cost of a piece of work, in USD. 0: only the daily budget applies.
    pub max_usd: f64,
    /// Minutes between progress reports to the conversation. 0: only a final report.
    pub pulse_minutes: u32,
    /// The use of idle time.
    pub ambient: Ambient,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            enabled: false,
            approve_plan: false,
            max_iterations: 40,
            max_attempts: 3,
            max_minutes: 120,
            max_usd: 0.0,
            pulse_minutes: 10,
            ambient: Ambient::default(),
        }
    }
}

/// The use of idle time, within the limits of `[work]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ambient {
    /// Whether work planned for idle time is carried out. Needs `work.enabled`.
    pub enabled: bool,
    /// Minutes without activity after which idle time begins.
    pub idle_minutes: u32,
    /// The prompt to run in idle time when no work is planned. Empty: none.
    pub prompt: String,
    /// The minimum time between two runs of the prompt, in minutes.
    pub every_minutes: u32,
}

impl Default for Ambient {
    fn default() -> Self {
        Self { enabled: false, idle_minutes: 15, prompt: String::new(), every_minutes: 240 }
    }
}
