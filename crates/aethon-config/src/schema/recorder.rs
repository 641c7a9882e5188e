//! `[session_recorder]`: recordings of sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Recordings of sessions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionRecorder {
    /// Whether sessions are recorded.
    pub enabled: bool,
    /// Minutes without a turn after which a recording ends.
    pub idle_minutes: u32,
    /// The number of newest recordings to keep. 0: all.
    pub keep: u32,
    /// Days after which a recording is removed. 0: never.
    pub max_age_days: u32,
}

impl Default for SessionRecorder {
    fn default() -> Self {
        Self { enabled: false, idle_minutes: 30, keep: 20, max_age_days: 0 }
    }
}
