//! Detects that the open database files are no longer the ones at their paths.
//!
//! When a database is replaced or removed under a running program, SQLite goes on writing to a file that nobody will
//! ever see again. SQLite can detect this (`SQLITE_FCNTL_HAS_MOVED`), but only for the main file and only through an
//! unsafe call. All it does is compare device and inode; this module does the same, for the log as well.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::file;
use crate::error::Error;

/// Identity of the files at a path when the database was opened.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    log_path: PathBuf,
    main: FileId,
    /// Set once the log exists, which never happens on a file system without shared memory.
    log: OnceLock<FileId>,
}

/// Identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl Place {
    /// Records the file that was just opened.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let main = look(path)?.ok_or_else(|| Error::moved(REMOVED, path))?;
        let place =
            Self { path: path.to_owned(), log_path: file::beside(path, "-wal"), main, log: OnceLock::new() };
        place.check()?;
        Ok(place)
    }

    /// Fails if one of the files was replaced or removed.
    pub(super) fn check(&self) -> Result<(), Error> {
        same(&self.path, self.main, look(&self.path)?)?;
        let log = look(&self.log_path)?;
        match self.log.get() {
            Some(known) => same(&self.log_path, *known, log),
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

fn look(path: &Path) -> Result<Option<FileId>, Error> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(FileId::of(&metadata))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("could not look at", path, error)),
    }
}

fn same(path: &Path, known: FileId, now: Option<FileId>) -> Result<(), Error> {
    match now {
        Some(now) if now == known => Ok(()),
        Some(_) => Err(Error::moved("replaced", path)),
        None => Err(Error::moved(REMOVED, path)),
    }
}
