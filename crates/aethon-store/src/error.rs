//! Errors of the storage.
//!
//! Opaque outside. SQLite's result codes are classified once, here, so that no other module compares them; `words` chooses
//! the sentence and the remedy by the cause, for the server, the terminal and `doctor` alike. Errors of
//! the core's traits ([`aethon_core::error::Error`]) pass through unchanged: a missing turn is no failure of the
//! storage.

use std::path::Path;

use rusqlite::ErrorCode;

mod obstacle;
mod reason;
mod words;

pub(crate) use obstacle::Obstacle;
use reason::Reason;
pub(crate) use reason::{FailedMigration, NoSpaceForCopy};

/// An error of the storage.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Reason);

impl Error {
    /// Returns the problem, in lower case.
    pub fn problem(&self) -> String {
        self.0.words().problem
    }

    /// Returns the remedy, if there is one.
    pub fn remedy(&self) -> Option<String> {
        self.0.words().remedy
    }

    pub(crate) fn older(path: &Path, found: i64, known: i64) -> Self {
        Self(Reason::Older { path: path.to_owned(), found, known })
    }

    pub(crate) fn held(path: &Path) -> Self {
        Self(Reason::Held { path: path.to_owned() })
    }

    pub(crate) fn no_space_for_copy(missing: NoSpaceForCopy) -> Self {
        Self(Reason::NoSpaceForCopy(Box::new(missing)))
    }

    /// The copy before an upgrade failed for this reason.
    pub(crate) fn copy_failed(path: &Path, error: &Self) -> Self {
        let (problem, remedy) = (error.problem(), error.remedy());
        Self(Reason::CopyFailed { path: path.to_owned(), problem, remedy })
    }

    pub(crate) fn newer(path: &Path, found: i64, known: i64) -> Self {
        Self(Reason::Newer { path: path.to_owned(), found, known })
    }

    pub(crate) fn foreign(path: &Path) -> Self {
        Self(Reason::Foreign { path: path.to_owned() })
    }

    pub(crate) fn foreign_log(path: &Path) -> Self {
        Self(Reason::ForeignLog { path: path.to_owned() })
    }

    pub(crate) fn file(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self(Reason::File { what, path: path.to_owned(), source })
    }

    /// The file at `path` cannot be opened for writing.
    pub(crate) fn unwritable(path: &Path, obstacle: Obstacle) -> Self {
        Self(Reason::Unwritable { path: path.to_owned(), obstacle })
    }

    pub(crate) fn moved(what: &'static str, path: &Path) -> Self {
        Self(Reason::Moved { what, path: path.to_owned() })
    }

    /// A migration step failed.
    pub(crate) fn migration(failed: FailedMigration) -> Self {
        Self(Reason::Migration(Box::new(failed)))
    }

    /// The file may not grow beyond this size.
    pub(crate) fn at_capacity(bytes: u64) -> Self {
        Self(Reason::AtCapacity { bytes })
    }

    pub(crate) fn thread(source: std::io::Error) -> Self {
        Self(Reason::Thread(source))
    }

    pub(crate) fn panicked() -> Self {
        Self(Reason::Panicked)
    }

    pub(crate) fn damaged(what: &str) -> Self {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        Self(Reason::Damaged(rusqlite::Error::SqliteFailure(code, Some(what.to_owned()))))
    }

    pub(crate) fn in_use() -> Self {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        Self(Reason::InUse(rusqlite::Error::SqliteFailure(code, None)))
    }

    pub(crate) fn closed() -> Self {
        Self(Reason::Closed)
    }

    /// Returns the same error for another job of the same commit.
    pub(crate) fn for_another(&self) -> Self {
        match &self.0 {
            Reason::InUse(cause)
            | Reason::DiskFull(cause)
            | Reason::Damaged(cause)
            | Reason::Disk(cause)
            | Reason::Failed(cause) => copy(cause).into(),
            Reason::Moved { what, path } => Self::moved(what, path),
            Reason::Unwritable { path, obstacle } => Self::unwritable(path, obstacle.clone()),
            Reason::Closed => Self::closed(),
            Reason::AtCapacity { bytes } => Self::at_capacity(*bytes),
            other => aethon_core::error::Error::internal(other.to_string()).into(),
        }
    }

    /// Returns whether the file system refused to store more, whatever the cause.
    pub(crate) fn is_about_the_disk(&self) -> bool {
        matches!(self.0, Reason::DiskFull(_) | Reason::Disk(_))
    }

    /// Returns whether the storage is at fault and not the request, so that the same request can succeed later.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self.0,
            Reason::InUse(_)
                | Reason::DiskFull(_)
                | Reason::AtCapacity { .. }
                | Reason::Disk(_)
                | Reason::Damaged(_)
                | Reason::Unwritable { .. }
                | Reason::Moved { .. }
                | Reason::File { .. }
                | Reason::Thread(_)
        )
    }

    /// Returns whether the file or its folder is not writable.
    pub fn is_unwritable(&self) -> bool {
        let code = if let Reason::Disk(cause) = &self.0 { cause.sqlite_error_code() } else { None };
        matches!(self.0, Reason::Unwritable { .. })
            || matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied))
    }

    /// Finds the cause of an error that came up while opening the file at `path`: SQLite's codes do not tell a full disk from a
    /// read-only one or from missing permissions.
    pub(crate) fn at_opening(self, path: &Path) -> Self {
        match &self.0 {
            Reason::Disk(cause) | Reason::DiskFull(cause) => {
                Self::unwritable(path, Obstacle::find(path, cause))
            }
            Reason::Migration(failed)
                if copy(&failed.source).sqlite_error_code() == Some(ErrorCode::DiskFull) =>
            {
                Self::unwritable(path, Obstacle::Full)
            }
            _ => self,
        }
    }

    /// Returns whether stored data can be read, though nothing can be written: the disk is full, or read-only.
    pub(crate) fn leaves_it_readable(&self) -> bool {
        matches!(self.0, Reason::Unwritable { obstacle: Obstacle::Full | Obstacle::ReadOnly, .. })
    }

    /// Returns whether the file was replaced or removed while it was open.
    pub fn is_moved(&self) -> bool {
        matches!(self.0, Reason::Moved { .. })
    }

    /// Returns whether a newer version of the program wrote the database.
    pub fn is_newer_version(&self) -> bool {
        matches!(self.0, Reason::Newer { .. })
    }

    /// Returns whether the database has an older format, and may not be upgraded by who opened it.
    pub fn is_older_version(&self) -> bool {
        matches!(self.0, Reason::Older { .. })
    }

    /// Returns whether the database cannot be upgraded now, because another program has it open.
    pub fn is_held(&self) -> bool {
        matches!(self.0, Reason::Held { .. })
    }

    /// Returns whether the copy could not be made that an upgrade needs first.
    pub fn is_copy_failed(&self) -> bool {
        matches!(self.0, Reason::CopyFailed { .. })
    }

    /// Returns whether the disk has too little room for an upgrade.
    pub fn is_no_space_for_copy(&self) -> bool {
        matches!(self.0, Reason::NoSpaceForCopy(_))
    }

    /// Returns whether the file is not a database of this program.
    pub fn is_foreign_file(&self) -> bool {
        matches!(self.0, Reason::Foreign { .. })
    }

    /// Returns whether the write-ahead log beside the database belongs to another one.
    pub fn is_foreign_log(&self) -> bool {
        matches!(self.0, Reason::ForeignLog { .. })
    }

    /// Returns whether another program holds the database; trying again later helps.
    pub fn is_busy(&self) -> bool {
        matches!(self.0, Reason::InUse(_))
    }

    /// Returns whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self.0, Reason::DiskFull(_) | Reason::Unwritable { obstacle: Obstacle::Full, .. })
    }

    /// Returns whether the file has reached its largest size.
    pub fn is_at_capacity(&self) -> bool {
        matches!(self.0, Reason::AtCapacity { .. })
    }

    /// Returns whether the contents of the file are damaged.
    pub fn is_damaged(&self) -> bool {
        matches!(self.0, Reason::Damaged(_))
    }

    /// Returns whether the disk failed to read a part of the file, which says something about the file. A lack of memory,
    /// descriptors or threads says nothing.
    pub fn is_unreadable(&self) -> bool {
        use rusqlite::ffi;
        const READING: [i32; 5] = [
            ffi::SQLITE_IOERR,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_SHORT_READ,
            ffi::SQLITE_IOERR_CORRUPTFS,
            ffi::SQLITE_IOERR_DATA,
        ];
        let Reason::Disk(rusqlite::Error::SqliteFailure(cause, _)) = &self.0 else { return false };
        READING.contains(&cause.extended_code)
    }

    /// Returns whether the storage was already closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.0, Reason::Closed)
    }
}

/// Copies an SQLite error; other errors (of a conversion, say) keep only their message.
fn copy(cause: &rusqlite::Error) -> rusqlite::Error {
    match cause {
        rusqlite::Error::SqliteFailure(code, text) => rusqlite::Error::SqliteFailure(*code, text.clone()),
        other => rusqlite::Error::ToSqlConversionFailure(other.to_string().into()),
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self(match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Reason::InUse(error),
            Some(ErrorCode::DiskFull) => Reason::DiskFull(error),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Reason::Damaged(error),
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::FileLockingProtocolFailed,
            ) => Reason::Disk(error),
            _ => Reason::Failed(error),
        })
    }
}

impl From<aethon_core::error::Error> for Error {
    fn from(error: aethon_core::error::Error) -> Self {
        Self(Reason::Refused(error))
    }
}

impl From<Error> for aethon_core::error::Error {
    fn from(error: Error) -> Self {
        match error.0 {
            Reason::Refused(refusal) => refusal,
            Reason::Closed => Self::shutting_down(),
            Reason::Damaged(_) => Self::damaged(error.to_string()).because(error),
            _ if error.is_unreadable() => Self::unreadable(error.to_string()).because(error),
            _ if error.is_unavailable() => Self::unavailable(error.to_string()).because(error),
            _ => Self::internal(error.to_string()).because(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn read_failures_of_the_disk_make_the_file_unreadable() {
        let of = |code| {
            let error = Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            aethon_core::error::Error::from(error)
        };
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_CORRUPTFS] {
            assert!(of(code).is_unreadable() && of(code).is_unavailable() && of(code).is_busy(), "{code}");
        }
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY, ffi::SQLITE_IOERR_NOMEM, ffi::SQLITE_FULL] {
            assert!(of(code).is_unavailable() && !of(code).is_unreadable(), "{code}");
        }
        let thread = aethon_core::error::Error::from(Error::thread(std::io::ErrorKind::WouldBlock.into()));
        assert!(thread.is_unavailable() && !thread.is_unreadable());
    }
}
