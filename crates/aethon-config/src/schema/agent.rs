//! `[agent]`: the limits of one turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::specialists::Specialists;

/// One turn of the assistant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Agent {
    /// The maximum number of model calls in a turn.
    pub max_iterations: u32,
    /// The maximum length of a tool's output, in characters; longer output is truncated for the model.
    pub max_tool_output_chars: usize,
    /// The maximum duration of a turn, in seconds.
    pub turn_timeout_seconds: u64,
    /// How often the same call with the same result, or two alternating calls, may repeat before the turn ends.
    pub loop_limit: u32,
    /// How long the same call may be repeated, in minutes, if it lets time pass: one that sleeps, or that is slow.
    pub loop_minutes: u64,
    /// Whether the model may create specialists: registers the tool `manage_specialists`.
    pub dynamic_specialists: bool,
    /// The specialists, to which the main agent delegates parts of its work.
    pub specialists: Specialists,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            max_iterations: 40,
            max_tool_output_chars: 12_000,
            turn_timeout_seconds: 600,
            loop_limit: 3,
            loop_minutes: 10,
            dynamic_specialists: false,
            specialists: Specialists::default(),
        }
    }
}
