//! `[approval]`: approval by a person before an action.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asking a person before an action.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Approval {
    /// Whether the listed actions wait for a person.
    pub enabled: bool,
    /// The tools that need approval. `file_write` stands for every tool that writes files, and `outbound` for every tool that
    /// sends something out of the machine: web pages and searches, messages, jobs, tools of MCP servers, and commands that
    /// reach a network. `*` stands for any part of a name.
    pub requires_approval: Vec<String>,
    /// How long an answer is waited for; none is a denial.
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
