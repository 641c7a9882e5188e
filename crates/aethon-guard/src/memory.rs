//! Keeps secrets out of long-term memory, on every way in.
//!
//! Memories are shown to models again and again, so a key that slipped in would travel with every
//! conversation. A text is checked in four ways: for values that the program knows and key formats of well-known
//! providers (the same that [`Redactor`] masks), for forms that only secrets have (`forms`), for payment card numbers
//! (`cards`), and for words such as `password` followed by something that looks like one (`labels`). The owner can add
//! patterns. Texts *about* secrets ("my passwords are in Bitwarden") are welcome; the tests contain a corpus of both
//! kinds.

mod cards;
mod forms;
mod labels;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use regex_lite::{Regex, RegexBuilder};

use crate::redact::Redactor;
use aethon_core::error::{Error, Result};
use aethon_core::live::Live;
use aethon_core::untrusted::without_invisible;

/// The largest compiled size of an owner's pattern, in bytes.
const MAX_PATTERN: usize = 1 << 18;

/// Finds secrets in texts to be remembered. Cheap to clone.
#[derive(Clone, Default)]
pub struct MemoryGuard {
    known: Live<Redactor>,
    own: Arc<[Regex]>,
}

impl MemoryGuard {
    /// Knows the values of this redactor, and the owner's patterns (case-insensitive regular expressions). An invalid
    /// pattern is refused by its number.
    pub fn new(known: Live<Redactor>, patterns: &[String]) -> Result<Self> {
        let compile = |(number, pattern): (usize, &String)| {
            let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(MAX_PATTERN).build();
            built.map_err(|error| {
                Error::invalid(format!("pattern {} is not a regular expression: {error}", number + 1))
            })
        };
        let own = patterns.iter().enumerate().map(compile).collect::<Result<Vec<_>>>()?;
        Ok(Self { known, own: own.into() })
    }

    /// Refuses a text that contains a secret, and names its kind, never the secret.
    pub fn check(&self, text: &str) -> Result<()> {
        match self.find(text) {
            None => Ok(()),
            Some(kind) => Err(Error::secret(format!(
                "this looks as if it held {kind}, and secrets are not remembered: leave it out, or say where it is kept"
            ))),
        }
    }

    /// Returns the kind of the first secret in a text, in words.
    pub fn find(&self, text: &str) -> Option<&'static str> {
        let text = &*without_invisible(text);
        if let Some(kind) = forms::find(text).or_else(|| cards::find(text)) {
            return Some(kind);
        }
        if self.known.get().finds_secret(text) {
            return Some("a key or a value that this program keeps secret");
        }
        if let Some(kind) = labels::find(text) {
            return Some(kind);
        }
        self.own
            .iter()
            .any(|pattern| pattern.is_match(text))
            .then_some("something that `memory.guard_patterns` names")
    }
}
