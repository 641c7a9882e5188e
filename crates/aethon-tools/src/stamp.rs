//! The state of a directory: while it stays the same, nothing was made, renamed or removed directly in it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Identity and last change of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    identity: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns the present state; `None` if nothing is there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            identity: (found.dev(), found.ino()),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}
