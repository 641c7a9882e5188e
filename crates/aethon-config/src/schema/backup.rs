//! `[backup]`: scheduled backups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduled backups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Backup {
    /// When to make a backup, as five cron fields or a word such as `@daily`, in the machine's time zone. Empty: never. A missed
    /// backup is made soon after the next start.
    pub schedule: String,
    /// The folder of backups; a relative path begins at the home. Empty: `backups` in the home. A different disk is safer.
    pub dir: String,
    /// The number of newest backups to keep in that folder.
    pub keep: u32,
    /// The `age` recipient, such as `age1...`, to which backups are encrypted. Only its identity decrypts them. Empty: not
    /// encrypted.
    pub recipient: String,
    /// Whether backups contain the stored secrets. Requires `backup.recipient`.
    pub with_secrets: bool,
}

impl Default for Backup {
    fn default() -> Self {
        let (schedule, dir, recipient) = Default::default();
        Self { schedule, dir, keep: 7, recipient, with_secrets: false }
    }
}
