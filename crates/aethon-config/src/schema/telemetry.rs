//! `[telemetry]`: the history of tool and model calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The history of tool and model calls.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Telemetry {
    /// Whether the history is kept.
    pub enabled: bool,
    /// Days after which it is removed; 0 is never.
    pub keep_days: u32,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { enabled: true, keep_days: 30 }
    }
}
