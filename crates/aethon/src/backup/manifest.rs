//! `manifest.json` of a backup: its format and origin, and the checksum of every file in it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The name of the entry.
pub(super) const NAME: &str = "manifest.json";

/// The format of backups that this program writes and reads.
pub(super) const FORMAT: u32 = 1;

/// The largest manifest: a million entries.
pub(super) const MAX_BYTES: u64 = 512 << 20;

/// A manifest. Fields that a later version adds are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the backup.
    pub format_version: u32,
    /// The version of the program that made it.
    pub version: String,
    /// When it was begun. It holds everything that was stored before.
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub created_at: Timestamp,
    /// The format of the database in it, if there is one.
    #[serde(default)]
    pub database_format: Option<i64>,
    /// Whether the stored secrets are in it.
    #[serde(default)]
    pub with_secrets: bool,
    /// The SHA-256 of each file, in hexadecimal.
    pub entries: BTreeMap<String, String>,
}
