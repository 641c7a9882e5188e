//! Errors of the recorder.

use std::io;

use aethon_core::error::Error as CoreError;

/// Result whose error defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operation on a recording that failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
    #[source]
    source: Option<io::Error>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bad,
    NotFound,
    Io,
}

impl Error {
    /// A file that is not a recording, or not one that can be opened here.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { kind: Kind::Bad, message: message.into(), source: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { kind: Kind::NotFound, message: message.into(), source: None }
    }

    pub(crate) fn io(message: impl Into<String>, source: io::Error) -> Self {
        Self { kind: Kind::Io, message: message.into(), source: Some(source) }
    }

    /// Returns whether the file itself is at fault.
    pub fn is_bad_recording(&self) -> bool {
        self.kind == Kind::Bad
    }

    /// Returns whether the recording or entry does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
    }
}

impl From<aethon_archive::Error> for Error {
    fn from(error: aethon_archive::Error) -> Self {
        if error.is_bad_archive() {
            return Self::bad(error.to_string());
        }
        Self::io("the recording cannot be read", error.into())
    }
}

impl From<Error> for CoreError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error.kind {
            Kind::Bad => Self::invalid(message),
            Kind::NotFound => Self::not_found(message),
            Kind::Io => Self::internal(message).because(error),
        }
    }
}
