//! `[session]`: conversations, and how they are compacted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conversations, and how they are kept short.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Session {
    /// The share of the model's context window at which older messages are summarised.
    pub max_context_share: f64,
    /// The number of newest messages that are never summarised.
    pub keep_recent: usize,
    /// Whether `model.small` names a conversation after its first exchange. Without such a model, the first words are the title.
    pub generate_titles: bool,
    /// Days that a deleted conversation stays in the bin, from which it can be restored; 0 deletes at once.
    pub bin_days: u32,
    /// Days after which one-shot sessions, those of single webhook calls, are removed.
    pub oneshot_keep_days: u32,
    /// The maximum number of one-shot sessions; the longest unused are removed first. You are warned at 80 %.
    pub oneshot_keep: u32,
    /// The maximum size of all one-shot sessions, in MiB; at most a quarter of `storage.max_mb`. Those of webhooks and the
    /// longest unused are removed first.
    pub oneshot_max_mb: u64,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            max_context_share: 0.8,
            keep_recent: 10,
            generate_titles: true,
            bin_days: 7,
            oneshot_keep_days: 30,
            oneshot_keep: 10_000,
            oneshot_max_mb: 4_096,
        }
    }
}
