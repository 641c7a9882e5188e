//! `[session]`: conversations, and how they are compacted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conversations and how they are kept short.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Session {
    /// The share of the model's context at which older messages are folded into a summary.
    pub max_context_share: f64,
    /// How many of the newest messages stay verbatim.
    pub keep_recent: usize,
    /// Days after which sessions of single webhook calls are removed.
    pub oneshot_keep_days: u32,
    /// How many sessions of single webhook calls are kept; the longest unused go first. You are warned at four fifths.
    pub oneshot_keep: u32,
    /// How large all of them may be together, in MiB; at most a quarter of `storage.max_mb`. Those of webhooks and the longest
    /// unused go first.
    pub oneshot_max_mb: u64,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            max_context_share: 0.8,
            keep_recent: 10,
            oneshot_keep_days: 30,
            oneshot_keep: 10_000,
            oneshot_max_mb: 4_096,
        }
    }
}
