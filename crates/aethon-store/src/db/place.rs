//! Whether the files that are open are still the ones that their paths name.
//!
//! A database that is replaced or removed under a running program goes on taking writes, into a file that nobody will ever
//! see again. SQLite can tell (`SQLITE_FCNTL_HAS_MOVED`), of the main file only and by a call that is not safe; what it does
//! is compare device and inode, which is done here, for the log beside the file as well.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::file;
use crate::error::Error;

/// The database of a path, as it was when it was opened.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    log_path: PathBuf,
    main: FileId,
    /// Known from the moment when it is there; a file system without shared memory never has one.
    log: OnceLock<FileId>,
}

/// Which file it is, whatever it is called.
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
    /// The file that was just opened.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let main = look(path)?.ok_or_else(|| Error::moved(REMOVED, path))?;
        let place =
            Self { path: path.to_owned(), log_path: file::beside(path, "-wal"), main, log: OnceLock::new() };
        place.check()?;
        Ok(place)
    }

    /// Errs when one of the files is another one now, or gone.
    pub(super) fn check(&self) -> Result<(), Error> {
        same(&self.path, self.main, look(&self.path)?)?;
        let log = look(&self.log_path)?;
        match self.log.get() {
            Some(known) => same(&self.log_path, *known, log),
            None => {
                if let Some(log) = log {
                    // Whoever else was first has seen the same file.
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
