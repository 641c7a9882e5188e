//! A string that must not be seen: API keys, tokens, passwords.
//!
//! Masking is a type, not a pass over finished output, so that new code that prints configuration cannot forget it.
//! Code that needs the plain text calls [`Secret::expose`], which is easy to search for.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// Replaces a secret wherever it is printed or serialised.
pub const MASK: &str = "***";

/// A secret value. It has no `Display`, its `Debug` prints `***`, it serialises to `***` (or to `""` if empty, so that
/// a reader sees that it is not set), and it is wiped from memory when dropped.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The newtype name under which it is deserialised.
    pub const NAME: &str = "Secret";

    /// Wraps a plain value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// Returns the plain text. Every call is a place where it could leak.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether it counts as not set, which includes blanks only.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.is_empty() { "" } else { MASK })
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As a named newtype, so that a deserialiser which reports errors can tell a secret from other strings and keep
        // its value out of the message. Every other format passes straight through to the string.
        deserializer.deserialize_newtype_struct(Self::NAME, SecretVisitor)
    }
}

struct SecretVisitor;

impl<'de> serde::de::Visitor<'de> for SecretVisitor {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Secret, E> {
        Ok(Secret::new(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_its_mask_and_never_its_value() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"***\"");
        assert_eq!(secret.expose(), "hunter2");
    }

    #[test]
    fn a_secret_is_read_from_a_plain_string() {
        assert_eq!(serde_json::from_str::<Secret>("\"hunter2\"").unwrap().expose(), "hunter2");
        assert!(serde_json::from_str::<Secret>("12").is_err());
    }

    #[test]
    fn an_empty_secret_serialises_as_empty() {
        assert_eq!(serde_json::to_string(&Secret::new("  ")).unwrap(), "\"\"");
        assert!(Secret::default().is_empty());
    }
}
