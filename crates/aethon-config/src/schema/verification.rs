//! `[verification]`: checks after edits, and evidence for success.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Checks after edits, and evidence for success.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verification {
    /// Whether edited files are checked and the model sees the result with the edit.
    pub enabled: bool,
    /// The check command, run in the project's folder. Empty: derived from the project's files, such as `cargo check`.
    pub command: String,
    /// The maximum duration of a check, in seconds.
    pub timeout_seconds: u64,
    /// Whether an edit fails when its check fails, and a claim of success without evidence is returned to the model once.
    pub strict: bool,
}

impl Default for Verification {
    fn default() -> Self {
        Self { enabled: false, command: String::new(), timeout_seconds: 120, strict: false }
    }
}
