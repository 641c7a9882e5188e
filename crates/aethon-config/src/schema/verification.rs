//! `[verification]`: checks after edits, and evidence for success.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Checks after edits, and evidence for success.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verification {
    /// Whether files that were edited are checked, and the outcome is told to the model with the edit.
    pub enabled: bool,
    /// The command that checks, run in the folder of the project. Empty: what the project's files suggest, such as
    /// `cargo check`.
    pub command: String,
    /// How long a check may take.
    pub timeout_seconds: u64,
    /// Whether an edit whose check fails is a failed call, and an answer that claims success without evidence is sent back
    /// once more.
    pub strict: bool,
}

impl Default for Verification {
    fn default() -> Self {
        Self { enabled: false, command: String::new(), timeout_seconds: 120, strict: false }
    }
}
