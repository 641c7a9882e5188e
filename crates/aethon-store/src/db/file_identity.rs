//! Detects that the open database files are no longer the ones at their paths.
//!
//! When a database is replaced or removed under a running program, SQLite keeps writing to a file that no program will
//! ever see again. SQLite can detect this (`SQLITE_FCNTL_HAS_MOVED`), but only for the main file and only through an
//! unsafe call. All it does is compare device and inode; this module does the same, for the log as well.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::sibling;
use crate::error::Error;

/// Identity of the files at a path when the database was opened.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    log_path: PathBuf,
    main: InodeId,
    /// Set once the log exists, which never happens on a file system without shared memory.
    log: OnceLock<InodeId>,
}

/// Identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InodeId {
    device: u64,
    inode: u64,
}

impl InodeId {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl FileIdentity {
    /// Records the file that was just opened.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let main = inode_at(path)?.ok_or_else(|| Error::moved(REMOVED, path))?;
        let identity = Self {
            path: path.to_owned(),
            log_path: sibling::beside(path, "-wal"),
            main,
            log: OnceLock::new(),
        };
        identity.check()?;
        Ok(identity)
    }

    /// Returns whether the database itself is still at its place, whatever became of the log.
    pub(super) fn is_in_place(&self) -> bool {
        inode_at(&self.path).is_ok_and(|now| now == Some(self.main))
    }

    /// Fails if one of the files was replaced or removed.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_same(&self.path, self.main, inode_at(&self.path)?)?;
        let log = inode_at(&self.log_path)?;
        match self.log.get() {
            Some(known) => check_same(&self.log_path, *known, log),
            None => {
                if let Some(log) = log {
                    // If another thread set it first, it saw the same file.
                    let _ = self.log.set(log);
                }
                Ok(())
            }
        }
    }
}

const REMOVED: &str = "removed";

fn inode_at(path: &Path) -> Result<Option<InodeId>, Error> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(InodeId::of(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("could not look at", path, error)),
    }
}

fn check_same(path: &Path, known: InodeId, now: Option<InodeId>) -> Result<(), Error> {
    match now {
        Some(now) if now == known => Ok(()),
        Some(_) => Err(Error::moved("replaced", path)),
        None => Err(Error::moved(REMOVED, path)),
    }
}
