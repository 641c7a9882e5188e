//! `[agent]`: the limits of one turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::specialists::Specialists;

/// One turn of the assistant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Agent {
    /// How many model calls a turn may make.
    pub max_iterations: u32,
    /// Longer tool output is cut before the model sees it, in characters.
    pub max_tool_output_chars: usize,
    /// How long a turn may take.
    pub turn_timeout_seconds: u64,
    /// How often the same call with the same result, or two calls in alternation, may repeat before the turn ends.
    pub loop_limit: u32,
    /// Registers `manage_specialists`.
    pub dynamic_specialists: bool,
    /// The agents that the main one asks for a part of its work.
    pub specialists: Specialists,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            max_iterations: 40,
            max_tool_output_chars: 12_000,
            turn_timeout_seconds: 600,
            loop_limit: 3,
            dynamic_specialists: false,
            specialists: Specialists::default(),
        }
    }
}
