//! The decoder's error: the key, the value found and the values allowed.

use std::fmt;

use serde::de;

use crate::path::KeyPath;

/// Why a value was rejected.
#[derive(Debug, Default)]
pub(super) struct Fault {
    /// The key; `None` until the fault reaches a node that knows it.
    pub(super) key: Option<KeyPath>,
    /// The value found.
    pub(super) found: String,
    /// The values allowed.
    pub(super) allowed: String,
    /// Whether the value has the wrong type, as opposed to the wrong content.
    is_kind: bool,
}

impl Fault {
    /// A value of the wrong type or content.
    pub(super) fn wrong(key: &KeyPath, found: String, allowed: &str) -> Self {
        Self { key: Some(key.clone()), found, allowed: allowed.to_owned(), is_kind: false }
    }

    /// A value of the wrong type where a string was expected.
    pub(super) fn wrong_kind(key: &KeyPath, found: String, allowed: &str) -> Self {
        Self { is_kind: true, ..Self::wrong(key, found, allowed) }
    }

    /// Narrows "a string" to the words allowed there.
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

/// Lists the allowed words for a message. An empty word is an alias not worth mentioning.
pub(super) fn one_of(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    format!("one of {}", words.join(", "))
}
