//! The facade's error type.

use std::error::Error as StdError;

/// A shorthand for results with the facade's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that kept the assistant from starting or running.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Refused,
    Failed,
}

impl Error {
    /// A refusal to start. The message names the setting, the value found, and the remedy.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { kind: Kind::Refused, message: message.into(), source: None }
    }

    /// A failure at run time.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns whether this is a refusal to start (exit status 2) rather than a failure (1).
    pub fn is_refusal(&self) -> bool {
        self.kind == Kind::Refused
    }
}

impl From<aethon_core::error::Error> for Error {
    fn from(error: aethon_core::error::Error) -> Self {
        Self::failed(error.to_string()).because(error)
    }
}
