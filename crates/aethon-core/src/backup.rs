//! Backups as clients see them: which there are, and starting one.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;

/// The backups of a home.
#[async_trait]
pub trait Backups: Send + Sync {
    /// Lists them.
    async fn list(&self) -> Result<BackupList>;

    /// Starts one and returns at once. `by` is who wants it, for the audit log. Returns `false` if one is being made already.
    fn start(&self, by: &str) -> bool;
}

/// The existing backups and the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackupList {
    /// Whether one is being made now.
    pub running: bool,
    /// The newest one that can be restored.
    pub last_good: Option<Backup>,
    /// All of them, newest first.
    pub backups: Vec<Backup>,
    /// The folder they are in.
    pub folder: String,
    /// The schedule; empty if they are not made by themselves.
    pub schedule: String,
    /// When the next one is due.
    #[serde(serialize_with = "crate::time::serialize_optional")]
    pub next_at: Option<Timestamp>,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
}

/// A file in the folder of backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Backup {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was begun.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether the file is whole. Every backup was checked when it was made.
    pub ok: bool,
}
