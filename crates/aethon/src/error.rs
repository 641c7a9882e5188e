//! The facade's error type.

use std::error::Error as StdError;
use std::fmt;

use aethon_core::error::write_with_sources;
use aethon_core::ids::{InvalidAgentName, InvalidId};

/// A shorthand for results with the facade's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that kept the assistant from starting or running.
pub struct Error {
    kind: Kind,
    message: String,
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

    /// Returns the error of the core's traits that this one reports, for its predicates such as
    /// [`is_busy`](aethon_core::error::Error::is_busy).
    pub fn as_core(&self) -> Option<&aethon_core::error::Error> {
        self.source.as_deref()?.downcast_ref()
    }

    /// Returns whether this is a refusal to start (exit status 2) rather than a failure (1).
    pub fn is_refusal(&self) -> bool {
        self.kind == Kind::Refused
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The message and its causes, as `main` prints them.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_with_sources(self, f)
    }
}

impl StdError for Error {
    /// The cause. One that says the same as the message is skipped, so that a printed chain says nothing twice.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        if source.to_string() == self.message { source.source() } else { Some(source) }
    }
}

impl From<aethon_core::error::Error> for Error {
    fn from(error: aethon_core::error::Error) -> Self {
        Self::failed(error.to_string()).because(error)
    }
}

impl From<InvalidId> for Error {
    fn from(error: InvalidId) -> Self {
        aethon_core::error::Error::from(error).into()
    }
}

impl From<InvalidAgentName> for Error {
    fn from(error: InvalidAgentName) -> Self {
        aethon_core::error::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_error_is_reported_once_and_can_be_asked() {
        let core = aethon_core::error::Error::unavailable("the disk is full")
            .because(std::io::Error::other("os error 28"));
        let error = Error::from(core);
        assert_eq!(format!("{error:?}"), "the disk is full: os error 28");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("os error 28"));
        assert!(error.as_core().is_some_and(aethon_core::error::Error::is_busy));
        assert!(Error::refused("no").as_core().is_none());
    }

    #[test]
    fn a_wrong_session_id_converts() {
        let parse =
            || -> Result<aethon_core::ids::SessionId> { Ok(aethon_core::ids::SessionId::parse("nowhere")?) };
        let error = parse().unwrap_err();
        assert!(error.as_core().is_some_and(aethon_core::error::Error::is_invalid), "{error:?}");
    }
}
