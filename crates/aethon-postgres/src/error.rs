//! Errors of the storage.
//!
//! Opaque outside. The server's codes are classified once, here, so that no other module compares them. Errors of the core's
//! traits ([`aethon_core::error::Error`]) pass through unchanged: a missing turn is no failure of the storage.

use std::error::Error as StdError;

use aethon_core::error::Error as CoreError;
use tokio_postgres::error::SqlState;

/// An error of the storage.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Reason);

#[derive(Debug, thiserror::Error)]
enum Reason {
    /// An error that the storage traits define.
    #[error("{0}")]
    Core(CoreError),
    /// The server, or the way to it.
    #[error("{}", self.words())]
    Server { kind: Kind, detail: String },
    /// The address cannot be used.
    #[error("{0}")]
    Setup(String),
    /// Another daemon is there.
    #[error("another aethon-server uses this database ({0}): stop one of the two")]
    Occupied(String),
}

/// The kind of fault, as far as the handling and the message depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The server does not answer, or the connection broke off.
    Lost,
    /// It starts, stops or recovers.
    NotReady,
    /// Another transaction was in the way.
    Conflict,
    /// It takes no more connections.
    Crowded,
    /// Its disk is full, or its memory.
    Full,
    /// It only reads: a standby.
    ReadOnly,
    /// It takes no encrypted connections.
    Unencrypted,
    /// No known authority vouches for its certificate.
    Untrusted,
    /// Name or password.
    SignIn,
    /// The database does not exist.
    NoDatabase,
    /// The role may not.
    Rights,
    /// Its files are damaged.
    Damaged,
    /// It took too long.
    Slow,
    /// Anything else.
    Failed,
}

impl Reason {
    fn words(&self) -> String {
        let Self::Server { kind, detail } = self else { return String::new() };
        let (problem, remedy) = match kind {
            Kind::Lost => (
                "the PostgreSQL server cannot be reached",
                "see that it runs, and that `storage.url` names its host and port",
            ),
            Kind::NotReady => {
                ("the PostgreSQL server is not ready", "it starts or stops; try again in a moment")
            }
            Kind::Conflict => ("another write was in the way", "try again"),
            Kind::Crowded => {
                ("the PostgreSQL server takes no more connections", "raise its `max_connections`")
            }
            Kind::Full => ("the PostgreSQL server has no room left", "free space on its disk"),
            Kind::ReadOnly => (
                "the PostgreSQL server only reads, like a standby",
                "let `storage.url` name the primary, or add `target_session_attrs=read-write`",
            ),
            Kind::Unencrypted => (
                "the PostgreSQL server takes no encrypted connections",
                "set `ssl = on` there, or write `?sslmode=disable` in `storage.url` on a network that you trust",
            ),
            Kind::Untrusted => (
                "the certificate of the PostgreSQL server is not trusted",
                "name the file of its authority as `?sslrootcert=/path/ca.pem` in `storage.url`, or write `sslmode=disable` on a network that you trust",
            ),
            Kind::SignIn => (
                "the PostgreSQL server refused the sign-in",
                "check the user name and the password in `storage.url`",
            ),
            Kind::NoDatabase => {
                ("the database does not exist on the PostgreSQL server", "create it with `createdb`")
            }
            Kind::Rights => (
                "the role has too few rights in the PostgreSQL database",
                "make it the owner of the database, or grant it CREATE and USAGE on the schema",
            ),
            Kind::Damaged => {
                ("the PostgreSQL server reports damaged data", "restore the database from a backup")
            }
            Kind::Slow => {
                ("the PostgreSQL server took too long", "another program may hold a lock; try again")
            }
            Kind::Failed => ("the PostgreSQL server refused a statement", "see its log"),
        };
        let detail = detail.trim_end_matches('.');
        if detail.is_empty() {
            format!("{problem}: {remedy}")
        } else {
            format!("{problem} ({detail}): {remedy}")
        }
    }
}

impl Error {
    /// The address, or the server behind it, cannot be used. Trying again does not help.
    pub(crate) fn setup(message: impl Into<String>) -> Self {
        Self(Reason::Setup(message.into()))
    }

    /// The daemon of another instance uses the database.
    pub(crate) fn occupied(instance: &str) -> Self {
        Self(Reason::Occupied(instance.to_owned()))
    }

    pub(crate) fn is_occupied(&self) -> bool {
        matches!(self.0, Reason::Occupied(_))
    }

    pub(crate) fn lost(detail: impl Into<String>) -> Self {
        Self(Reason::Server { kind: Kind::Lost, detail: detail.into() })
    }

    pub(crate) fn read_only() -> Self {
        Self(Reason::Server { kind: Kind::ReadOnly, detail: String::new() })
    }

    pub(crate) fn closed() -> Self {
        CoreError::unavailable("the storage is closed").into()
    }

    pub(crate) fn column(what: &'static str) -> Self {
        CoreError::internal(format!("a column of the database is no {what}")).into()
    }

    /// Returns whether the same work may succeed on another connection in a moment, and has changed nothing.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.0,
            Reason::Server { kind: Kind::Lost | Kind::NotReady | Kind::Conflict | Kind::Crowded, .. }
        )
    }

    /// Returns whether the connection is at fault, so that the outcome of the statement is unknown.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.0, Reason::Server { kind: Kind::Lost | Kind::NotReady, .. })
    }

    /// Returns whether the storage is at fault and not the request, so that the same request can succeed later.
    pub fn is_unavailable(&self) -> bool {
        match &self.0 {
            Reason::Core(error) => error.is_unavailable(),
            Reason::Server { kind, .. } => *kind != Kind::Failed,
            Reason::Setup(_) | Reason::Occupied(_) => false,
        }
    }

    /// Returns whether the server's files are damaged.
    pub fn is_damaged(&self) -> bool {
        matches!(self.0, Reason::Server { kind: Kind::Damaged, .. })
    }
}

impl From<CoreError> for Error {
    fn from(error: CoreError) -> Self {
        Self(Reason::Core(error))
    }
}

impl From<Error> for CoreError {
    fn from(error: Error) -> Self {
        match error.0 {
            Reason::Core(error) => error,
            Reason::Setup(message) => Self::invalid(message),
            Reason::Occupied(_) => Self::invalid(error.to_string()),
            Reason::Server { kind: Kind::Damaged, .. } => Self::damaged(error.to_string()),
            Reason::Server { kind: Kind::Failed, .. } => Self::internal(error.to_string()),
            Reason::Server { .. } => Self::unavailable(error.to_string()),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(answer) = error.as_db_error() else {
            let (mut detail, mut cause) = (error.to_string(), error.source());
            while let Some(source) = cause {
                detail = format!("{detail}: {source}");
                cause = source.source();
            }
            // A value cannot be decoded or sent: no connection is at fault.
            let is_ours = ["serializ", "column", "parameter"].iter().any(|word| detail.contains(word));
            let kind = match detail.contains("password") || detail.contains("authentication") {
                true => Kind::SignIn,
                false if detail.contains("does not support TLS") => Kind::Unencrypted,
                false if detail.contains("certificate") => Kind::Untrusted,
                false if is_ours => Kind::Failed,
                false => Kind::Lost,
            };
            return Self(Reason::Server { kind, detail });
        };
        Self(Reason::Server { kind: kind_of(answer.code()), detail: answer.message().to_owned() })
    }
}

fn kind_of(code: &SqlState) -> Kind {
    match code.code() {
        "25006" => Kind::ReadOnly,
        "28P01" | "28000" => Kind::SignIn,
        "3D000" => Kind::NoDatabase,
        "42501" => Kind::Rights,
        "40001" | "40P01" => Kind::Conflict,
        "55P03" | "57014" => Kind::Slow,
        "53300" => Kind::Crowded,
        "57P03" | "57P04" => Kind::NotReady,
        "XX001" | "XX002" => Kind::Damaged,
        other => match other.get(..2) {
            Some("08") => Kind::Lost,
            // Shut down by its administrator, or after a crash.
            Some("57") => Kind::NotReady,
            Some("53" | "58") => Kind::Full,
            Some("25") => Kind::Conflict,
            _ => Kind::Failed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_server_become_what_a_caller_can_do() {
        let check = |code: &str, is_unavailable: bool, is_passing: bool| {
            let error =
                Error(Reason::Server { kind: kind_of(&SqlState::from_code(code)), detail: "x".into() });
            assert_eq!((error.is_unavailable(), error.is_passing()), (is_unavailable, is_passing), "{code}");
        };
        check("08006", true, true);
        check("57P01", true, true);
        check("57P03", true, true);
        check("40001", true, true);
        check("53100", true, false);
        check("25006", true, false);
        check("28P01", true, false);
        check("42601", false, false);
        let full = Error(Reason::Server { kind: Kind::Full, detail: "could not extend file.".into() });
        assert_eq!(
            full.to_string(),
            "the PostgreSQL server has no room left (could not extend file): free space on its disk"
        );
        assert!(CoreError::from(full).is_unavailable());
        let damaged = Error(Reason::Server { kind: Kind::Damaged, detail: String::new() });
        assert!(CoreError::from(damaged).is_damaged());
    }
}
