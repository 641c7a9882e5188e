//! `[approval]`: actions that wait for a person's approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asking a person before an action.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Approval {
    /// Whether the listed tools wait for approval.
    pub enabled: bool,
    /// The tools that need approval. `file_write` means every tool that writes files, and `outbound` every tool that sends
    /// something out of the machine: web pages and searches, messages, jobs, tools of MCP servers, and commands that reach a
    /// network. `*` matches any part of a name.
    pub requires_approval: Vec<String>,
    /// Seconds to wait for an answer. Without one, the action is denied.
    pub timeout_seconds: u64,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            enabled: false,
            requires_approval: ["shell", "file_write", "manage_tools", "manage_specialists"]
                .map(str::to_owned)
                .to_vec(),
            timeout_seconds: 120,
        }
    }
}
