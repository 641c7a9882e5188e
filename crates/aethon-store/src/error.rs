//! What can go wrong with the storage.
//!
//! Opaque outside; inside, what SQLite says is sorted once, here, so that nobody else compares result codes. Errors of
//! the core's traits ([`aethon_core::error::Error`]) pass through unchanged: a missing turn is no failure of the storage.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// An error of the storage.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Reason);

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(
        "{} has format {found}, and this version of aethon knows formats up to {known}: start the newer aethon that \
         wrote it, or put the copy back that it left beside it ({}.bak-v{known})",
        path.display(), path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{} is not a database of aethon: move it away, or choose another home", path.display())]
    Foreign { path: PathBuf },
    #[error("{what} {}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("the database is in use by another program; try again in a moment")]
    InUse(#[source] rusqlite::Error),
    #[error("the disk is full, so nothing more can be stored: free some space")]
    DiskFull(#[source] rusqlite::Error),
    #[error("the database is damaged: stop aethon, and restore the file from a backup")]
    Damaged(#[source] rusqlite::Error),
    #[error("the database could not do this")]
    Failed(#[source] rusqlite::Error),
    #[error("the storage could not start a thread")]
    Thread(#[source] std::io::Error),
    #[error("a job of the storage panicked; it was rolled back")]
    Panicked,
    #[error("the storage is closed")]
    Closed,
    #[error(transparent)]
    Refused(aethon_core::error::Error),
}

impl Error {
    pub(crate) fn newer(path: &Path, found: i64, known: i64) -> Self {
        Self(Reason::Newer { path: path.to_owned(), found, known })
    }

    pub(crate) fn foreign(path: &Path) -> Self {
        Self(Reason::Foreign { path: path.to_owned() })
    }

    pub(crate) fn file(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self(Reason::File { what, path: path.to_owned(), source })
    }

    pub(crate) fn thread(source: std::io::Error) -> Self {
        Self(Reason::Thread(source))
    }

    pub(crate) fn panicked() -> Self {
        Self(Reason::Panicked)
    }

    pub(crate) fn closed() -> Self {
        Self(Reason::Closed)
    }

    /// The same error for another job of the same commit.
    pub(crate) fn for_another(&self) -> Self {
        match &self.0 {
            Reason::InUse(cause)
            | Reason::DiskFull(cause)
            | Reason::Damaged(cause)
            | Reason::Failed(cause) => copy(cause).into(),
            Reason::Closed => Self::closed(),
            other => aethon_core::error::Error::internal(other.to_string()).into(),
        }
    }

    /// Whether the file system refused to store more, in one way or another.
    pub(crate) fn is_about_the_disk(&self) -> bool {
        let code = if let Reason::Failed(cause) = &self.0 { cause.sqlite_error_code() } else { None };
        self.is_disk_full() || code == Some(ErrorCode::SystemIoFailure)
    }

    /// Whether a newer version of the program wrote the database.
    pub fn is_newer_version(&self) -> bool {
        matches!(self.0, Reason::Newer { .. })
    }

    /// Whether the file is something else than a database of this program.
    pub fn is_foreign_file(&self) -> bool {
        matches!(self.0, Reason::Foreign { .. })
    }

    /// Whether another program holds the database; trying again later helps.
    pub fn is_busy(&self) -> bool {
        matches!(self.0, Reason::InUse(_))
    }

    /// Whether there is no space left.
    pub fn is_disk_full(&self) -> bool {
        matches!(self.0, Reason::DiskFull(_))
    }

    /// Whether the contents of the file are broken.
    pub fn is_damaged(&self) -> bool {
        matches!(self.0, Reason::Damaged(_))
    }

    /// Whether the storage was closed before.
    pub fn is_closed(&self) -> bool {
        matches!(self.0, Reason::Closed)
    }
}

/// Errors of SQLite are copied whole; others (of a conversion, say) keep their words.
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
            Reason::InUse(_) => Self::full(error.to_string()).because(error),
            _ => Self::internal(error.to_string()).because(error),
        }
    }
}
