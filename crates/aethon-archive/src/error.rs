//! Why an archive could not be written or was refused.

use std::io;

/// An error of an archive.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Reason);

#[derive(Debug, thiserror::Error)]
enum Reason {
    /// A sentence about the archive: "it has ...".
    #[error("{0}")]
    Bad(String),
    #[error("{0}")]
    Key(String),
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// Result whose error defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The archive is refused; the message is a sentence about it, such as "it has a link".
    pub fn bad(message: impl Into<String>) -> Self {
        Self(Reason::Bad(message.into()))
    }

    pub(crate) fn key(message: impl Into<String>) -> Self {
        Self(Reason::Key(message.into()))
    }

    /// Returns whether the archive itself is at fault.
    pub fn is_bad_archive(&self) -> bool {
        matches!(self.0, Reason::Bad(_))
    }

    /// Returns whether the passphrase or the identity does not open it, or the recipient is none.
    pub fn is_wrong_key(&self) -> bool {
        matches!(self.0, Reason::Key(_))
    }

    /// Returns the error of the file system, if it was one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match &self.0 {
            Reason::Io(error) => Some(error.kind()),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self(Reason::Io(error))
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error.0 {
            Reason::Io(error) => error,
            reason => Self::new(io::ErrorKind::InvalidData, Error(reason)),
        }
    }
}

impl From<zip::result::ZipError> for Error {
    fn from(error: zip::result::ZipError) -> Self {
        match error {
            zip::result::ZipError::Io(error) if !is_about_content(&error) => error.into(),
            other => Self::bad(format!("it is not a readable ZIP file: {other}")),
        }
    }
}

/// Returns whether a failed read means that the content is wrong, not that the file could not be read.
pub(crate) fn is_about_content(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::Other
    )
}
