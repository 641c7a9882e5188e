//! The facts about copies of the database.

use std::path::PathBuf;

/// How far a copy is, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pages copied.
    pub copied: u64,
    /// Pages of the database.
    pub total: u64,
}

/// Result of [`verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFacts {
    /// The format of the copy.
    pub version: i64,
    /// The damage found; empty if the copy is intact.
    pub problems: Vec<String>,
}

/// A copy that an upgrade left beside the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldCopy {
    /// The file.
    pub path: PathBuf,
    /// The format of the database in it.
    pub version: i64,
    /// Its size in bytes.
    pub size: u64,
}
