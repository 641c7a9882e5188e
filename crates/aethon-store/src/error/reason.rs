//! The causes of errors.

use std::path::PathBuf;

use super::obstacle::Obstacle;

#[derive(Debug)]
pub(super) enum Reason {
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    Older {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    /// Another program has the file open, so it is not upgraded.
    Held {
        path: PathBuf,
    },
    NoSpaceForCopy(Box<NoSpaceForCopy>),
    /// The copy before an upgrade could not be made.
    CopyFailed {
        path: PathBuf,
        problem: String,
        remedy: Option<String>,
    },
    ForeignLog {
        path: PathBuf,
    },
    Foreign {
        path: PathBuf,
    },
    File {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file cannot be opened for writing.
    Unwritable {
        path: PathBuf,
        obstacle: Obstacle,
    },
    Moved {
        what: &'static str,
        path: PathBuf,
    },
    Migration(Box<FailedMigration>),
    InUse(rusqlite::Error),
    DiskFull(rusqlite::Error),
    AtCapacity {
        bytes: u64,
    },
    Damaged(rusqlite::Error),
    Disk(rusqlite::Error),
    Failed(rusqlite::Error),
    Thread(std::io::Error),
    Panicked,
    Closed,
    Refused(aethon_core::error::Error),
}

/// A failed migration step. Boxed to keep errors small.
#[derive(Debug)]
pub(crate) struct FailedMigration {
    pub(crate) path: PathBuf,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) step: i64,
    /// The copy made before it, if there was anything to copy.
    pub(crate) copy: Option<PathBuf>,
    pub(crate) source: rusqlite::Error,
}

/// Too little room for the copy that an upgrade makes first. Boxed to keep errors small.
#[derive(Debug)]
pub(crate) struct NoSpaceForCopy {
    pub(crate) path: PathBuf,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) needed: u64,
    pub(crate) free: u64,
}
