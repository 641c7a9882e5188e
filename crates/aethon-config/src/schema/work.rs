//! `[work]`: multi-turn work, and what is done while nobody needs the assistant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Work that takes more than one turn: planned as tasks, and worked on to its end.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Work {
    /// Registers `tasks`, and has planned work done in the background.
    pub enabled: bool,
    /// Whether a person must approve a plan before it is worked on.
    pub approve_plan: bool,
    /// How many turns a piece of work may take.
    pub max_iterations: u32,
    /// How often one task may be tried.
    pub max_attempts: u32,
    /// How long a piece of work may be worked on, in minutes.
    pub max_minutes: u32,
    /// What a piece of work may cost, in USD. 0: the daily budget alone counts.
    pub max_usd: f64,
    /// How often the conversation is told how it goes, in minutes. 0: only when it is over.
    pub pulse_minutes: u32,
    /// Using idle time.
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

/// Using idle time, under the limits of `[work]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ambient {
    /// Whether work that was planned for idle time is done. Needs `work.enabled`.
    pub enabled: bool,
    /// How long nothing must have happened before that, in minutes.
    pub idle_minutes: u32,
    /// What to do in idle time when nothing is planned. Empty: nothing.
    pub prompt: String,
    /// How long after that it is done again at the earliest, in minutes.
    pub every_minutes: u32,
}

impl Default for Ambient {
    fn default() -> Self {
        Self { enabled: false, idle_minutes: 15, prompt: String::new(), every_minutes: 240 }
    }
}
