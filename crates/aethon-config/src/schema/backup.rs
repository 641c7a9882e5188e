//! `[backup]`: backups that the service makes by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Backups that the service makes by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Backup {
    /// When a backup is made, as five cron fields or `@daily` and its like, in the machine's time zone. Empty: never. One that
    /// was missed is made soon after the next start.
    pub schedule: String,
    /// The folder of backups; a relative path begins at the home. Empty: `backups` in the home. Another disk is better.
    pub dir: String,
    /// How many of the newest backups in that folder are kept.
    pub keep: u32,
    /// An `age` recipient, such as `age1...`. Backups are encrypted to it, and only its identity opens them.
    pub recipient: String,
    /// Whether the stored secrets are part of these backups. Requires `backup.recipient`.
    pub with_secrets: bool,
}

impl Default for Backup {
    fn default() -> Self {
        let (schedule, dir, recipient) = Default::default();
        Self { schedule, dir, keep: 7, recipient, with_secrets: false }
    }
}
