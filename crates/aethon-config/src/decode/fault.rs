//! The error of the decoder: which key, what stands there, what may.

use std::fmt;

use serde::de;

use super::Node;
use crate::path::KeyPath;
use crate::reference::Unresolved;

/// Why a value was not taken.
#[derive(Debug, Default)]
pub(super) struct Fault {
    /// The key; `None` until the fault reaches a node that knows.
    pub(super) key: Option<KeyPath>,
    /// What stands there.
    pub(super) found: String,
    /// What may.
    pub(super) allowed: String,
    /// Whether the kind of value is wrong, and not what it says.
    is_kind: bool,
}

impl Fault {
    /// A value of a wrong kind or content.
    pub(super) fn wrong(node: &Node<'_>, found: String, allowed: &str) -> Self {
        Self { key: Some(node.trail.path()), found, allowed: allowed.to_owned(), is_kind: false }
    }

    /// A value of a wrong kind where a string was wanted.
    pub(super) fn wrong_kind(node: &Node<'_>, found: String, allowed: &str) -> Self {
        Self { is_kind: true, ..Self::wrong(node, found, allowed) }
    }

    /// A reference that resolves to nothing.
    pub(super) fn unresolved(node: &Node<'_>, reference: Unresolved) -> Self {
        Self::wrong(node, reference.found, &reference.allowed)
    }

    /// Gives a fault of a visitor, which cannot know, its place and what stands there.
    pub(super) fn or_at(self, node: &Node<'_>) -> Self {
        match self.key {
            Some(_) => self,
            None => Self::wrong(node, node.described(), &self.allowed),
        }
    }

    /// Narrows "a string" to the words that are allowed there.
    pub(super) fn with_allowed_type(self, allowed: &str) -> Self {
        if self.is_kind { Self { allowed: allowed.to_owned(), ..self } } else { self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}; allowed: {}", self.found, self.allowed)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { allowed: message.to_string(), ..Self::default() }
    }

    fn invalid_type(_found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(expected)
    }

    fn invalid_value(_found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(expected)
    }

    fn unknown_variant(_found: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(one_of(expected))
    }
}

/// The words that are allowed, for a message. An empty word is an alias nobody needs to know.
pub(super) fn one_of(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    format!("one of {}", words.join(", "))
}
