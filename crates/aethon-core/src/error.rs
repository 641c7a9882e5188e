//! The single error type of the core's traits.
//!
//! Opaque, with predicates for what callers treat differently. Its message is lower case and names the thing and the
//! remedy; the source is for the log.

use std::error::Error as StdError;
use std::fmt;

use crate::ids::{InvalidAgentName, InvalidId};

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operation that failed.
#[derive(thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NotFound,
    Invalid,
    Mismatch,
    Full,
    Unavailable,
    Unreadable,
    Damaged,
    NoRoom,
    ShuttingDown,
    Elsewhere,
    Denied,
    Secret,
    ChangedElsewhere,
    Internal,
}

impl Error {
    fn of(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The thing named does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::of(Kind::NotFound, message)
    }

    /// The caller asked for something that makes no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::of(Kind::Invalid, message)
    }

    /// The same message id came with different content.
    pub fn mismatch(message: impl Into<String>) -> Self {
        Self::of(Kind::Mismatch, message)
    }

    /// A bounded queue is full.
    pub fn full(message: impl Into<String>) -> Self {
        Self::of(Kind::Full, message)
    }

    /// The storage, or something else that everything needs, does not work at the moment. Nothing was changed; the same
    /// call succeeds once it works again.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::of(Kind::Unavailable, message)
    }

    /// The disk failed to read a part of the storage. Like [`Self::unavailable`]; but if it fails again and again while
    /// everything else works, that part is lost.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::of(Kind::Unreadable, message)
    }

    /// The storage is damaged. Nothing was changed, and the same call fails again until the storage is mended.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::of(Kind::Damaged, message)
    }

    /// The storage has no room for it: the rest is reserved for the owner. Others may still be stored.
    pub fn no_room(message: impl Into<String>) -> Self {
        Self::of(Kind::NoRoom, message)
    }

    /// The program is shutting down and accepts nothing new.
    pub fn shutting_down() -> Self {
        Self::of(Kind::ShuttingDown, "the assistant is shutting down; try again in a moment")
    }

    /// Another program that shares the storage is writing there.
    pub fn elsewhere(message: impl Into<String>) -> Self {
        Self::of(Kind::Elsewhere, message)
    }

    /// A rule forbids it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::of(Kind::Denied, message)
    }

    /// It contains a secret, which is not stored there.
    pub fn secret(message: impl Into<String>) -> Self {
        Self::of(Kind::Secret, message)
    }

    /// The target of a change is not in the state that the caller has seen: it was changed or removed meanwhile.
    pub fn changed_elsewhere() -> Self {
        Self::of(Kind::ChangedElsewhere, "it was changed or removed elsewhere meanwhile; look at it again")
    }

    /// Something of ours failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::of(Kind::Internal, message)
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns whether the thing named does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind == Kind::NotFound
    }

    /// Returns whether the request made no sense.
    pub fn is_invalid(&self) -> bool {
        self.kind == Kind::Invalid
    }

    /// Returns whether a known id came with different content.
    pub fn is_mismatch(&self) -> bool {
        self.kind == Kind::Mismatch
    }

    /// Returns whether trying again later helps.
    pub fn is_busy(&self) -> bool {
        matches!(
            self.kind,
            Kind::Full
                | Kind::Unavailable
                | Kind::Unreadable
                | Kind::NoRoom
                | Kind::ShuttingDown
                | Kind::Elsewhere
        )
    }

    /// Returns whether the storage (or something else that everything needs) does not work, be it for the moment or
    /// for good.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.kind, Kind::Unavailable | Kind::Unreadable | Kind::Damaged)
    }

    /// Returns whether the disk failed to read a part of the storage.
    pub fn is_unreadable(&self) -> bool {
        self.kind == Kind::Unreadable
    }

    /// Returns whether the storage is damaged, so that waiting does not help.
    pub fn is_damaged(&self) -> bool {
        self.kind == Kind::Damaged
    }

    /// Returns whether the storage keeps what room it has for the owner.
    pub fn is_no_room(&self) -> bool {
        self.kind == Kind::NoRoom
    }

    /// Returns whether a share of something bounded is used up, so that waiting for it would hold up others.
    pub fn is_crowded(&self) -> bool {
        matches!(self.kind, Kind::Full | Kind::NoRoom)
    }

    /// Returns whether another program that shares the storage is writing there. It becomes free when that program is
    /// done or gone.
    pub fn is_elsewhere(&self) -> bool {
        self.kind == Kind::Elsewhere
    }

    /// Returns whether a rule forbids it.
    pub fn is_denied(&self) -> bool {
        self.kind == Kind::Denied
    }

    /// Returns whether something else changed or removed the thing meanwhile.
    pub fn is_changed_elsewhere(&self) -> bool {
        self.kind == Kind::ChangedElsewhere
    }

    /// Returns whether it contains a secret, which is not stored there.
    pub fn is_secret(&self) -> bool {
        self.kind == Kind::Secret
    }
}

/// The message and its causes, as `main` prints them.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_with_sources(self, f)
    }
}

impl From<InvalidId> for Error {
    fn from(error: InvalidId) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<InvalidAgentName> for Error {
    fn from(error: InvalidAgentName) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Writes an error and its sources, separated by colons. A source that only repeats what is already written is left out.
pub fn write_with_sources(error: &dyn StdError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut written = error.to_string();
    f.write_str(&written)?;
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !written.contains(&text) {
            write!(f, ": {text}")?;
            written = format!("{written}: {text}");
        }
        source = cause.source();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentName, SessionId};

    #[test]
    fn an_error_prints_its_message_and_each_cause_once() {
        let cause = || std::io::Error::other("the disk is gone");
        let check = |error: Error, expected: &str| assert_eq!(format!("{error:?}"), expected);
        check(Error::not_found("there is no job"), "there is no job");
        check(Error::internal("cannot store").because(cause()), "cannot store: the disk is gone");
        check(
            Error::internal("cannot store: the disk is gone").because(cause()),
            "cannot store: the disk is gone",
        );
        let inner = Error::unavailable("the database is busy").because(cause());
        check(
            Error::internal("the database is busy").because(inner),
            "the database is busy: the disk is gone",
        );
    }

    #[test]
    fn an_invalid_id_becomes_an_invalid_request() {
        let session = || -> Result<SessionId> { Ok(SessionId::parse("no-channel")?) };
        let agent = || -> Result<AgentName> { Ok(AgentName::parse("Not One")?) };
        let errors = [session().unwrap_err(), agent().unwrap_err()];
        assert!(errors.iter().all(Error::is_invalid), "{errors:?}");
        assert!(errors[0].to_string().contains("channel:name"), "{errors:?}");
    }
}
