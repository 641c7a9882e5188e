//! What can go wrong with recordings.

use std::io;

use aethon_core::error::Error as CoreError;

/// A shorthand.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Something about a recording that could not be done.
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
    /// A file that is no recording, or none that is opened here.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { kind: Kind::Bad, message: message.into(), source: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { kind: Kind::NotFound, message: message.into(), source: None }
    }

    pub(crate) fn io(message: impl Into<String>, source: io::Error) -> Self {
        Self { kind: Kind::Io, message: message.into(), source: Some(source) }
    }

    /// Whether it is the file that is at fault.
    pub fn is_bad_recording(&self) -> bool {
        self.kind == Kind::Bad
    }

    /// Whether there is no such thing.
    pub fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
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
