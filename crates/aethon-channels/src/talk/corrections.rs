//! Corrections of messages that were answered before they were edited, which go with the next message of their sender.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Above the new text of a message that was answered before it was edited.
const CORRECTED: &str = "(The person corrected an earlier message. It now reads like this.)";

/// The corrections that go with a message, by the names of their records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Corrections(BTreeMap<String, String>);

impl FromIterator<(String, String)> for Corrections {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(records: T) -> Self {
        Self(records.into_iter().collect())
    }
}

impl Corrections {
    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns them with the names of their records.
    pub(super) fn records(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter()
    }

    /// Adds others, which replace older ones of the same message.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Adds them to a text: above it, but below what begins with a slash, since that is the name of something to do.
    pub(super) fn added_to(&self, text: String) -> String {
        let mut parts: Vec<String> =
            self.0.values().map(|text| format!("{CORRECTED}\n{}", as_quote(text))).collect();
        if parts.is_empty() {
            return text;
        }
        let at = if text.starts_with('/') { 0 } else { parts.len() };
        if !text.is_empty() {
            parts.insert(at, text);
        }
        parts.join("\n\n")
    }
}

fn as_quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
