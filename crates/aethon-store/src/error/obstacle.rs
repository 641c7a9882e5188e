//! What keeps a database file from being opened for writing.
//!
//! SQLite reports most of it as "disk I/O error" or "unable to open database file". The remedies differ, so the cause is
//! found by trying what SQLite tried: opening the file, and writing a little beside it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rusqlite::ErrorCode;
use rustix::fs::{Access, access};

/// Bytes that opening a database takes on the disk: its index of the log has this size.
const NEEDED: usize = 32 << 10;

/// What keeps a file from being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The disk has no room left.
    Full,
    /// The file system is mounted read-only.
    ReadOnly,
    /// The user that runs this program may not.
    NotPermitted(String),
    /// Something else.
    Other(String),
}

impl Obstacle {
    /// The obstacle behind an error of the operating system.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::PermissionDenied => Self::NotPermitted(error.to_string()),
            _ => Self::Other(error.to_string()),
        }
    }

    /// Returns whether a database that could only be read so far can perhaps be written by now. Does not open it, because
    /// closing it drops the locks of those connections that have it open.
    pub(crate) fn seems_gone(path: &Path) -> bool {
        access(path, Access::WRITE_OK).is_ok() && write_beside(path).is_ok()
    }

    /// Finds the obstacle to opening the database at `path`, which failed with this error. No other connection of this process
    /// may have it open.
    pub(super) fn find(path: &Path, cause: &rusqlite::Error) -> Self {
        if cause.sqlite_error_code() == Some(ErrorCode::DiskFull) {
            return Self::Full;
        }
        match OpenOptions::new().read(true).write(true).open(path).and_then(|_| write_beside(path)) {
            Ok(()) => Self::Other(cause.to_string()),
            Err(error) => Self::of(&error),
        }
    }
}

/// Writes as much as opening the database takes into a file beside it, and removes that file.
fn write_beside(path: &Path) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".trial-{}", std::process::id()));
    // One that a crash left may have the same number.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&name)?;
    let written = file.write_all(&[1; NEEDED]).and_then(|()| file.sync_all());
    fs::remove_file(&name)?;
    written
}
