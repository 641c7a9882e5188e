//! Why a document cannot be read.

use std::fmt::Display;

/// Why a document cannot be read: words that follow "because", such as "it needs a password".
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// The document is damaged; a library says how.
    pub(crate) fn damaged(what: &str, fault: impl Display) -> Self {
        Self(format!("{what} is damaged ({fault})"))
    }

    pub(crate) fn needs_password() -> Self {
        Self("it needs a password".to_owned())
    }
}
