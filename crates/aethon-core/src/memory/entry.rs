//! The data types of memories.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::fingerprint::fingerprint;
use crate::error::{Error, Result};
use crate::person::Person;
use crate::version::{Expected, Version};

/// The longest memory, in characters. Longer texts are documents and belong in files.
pub const MAX_LEN: usize = 8_000;

/// The longest category and the longest source, in characters.
pub const MAX_WORD: usize = 64;

/// The category used when none is given.
pub const GENERAL: &str = "general";

/// The id of a memory, never reused. A string on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(inline, extend("pattern" = "^[0-9]+$"))]
pub struct MemoryId(#[schemars(with = "String")] pub i64);

impl MemoryId {
    /// Parses an id given by a client or a model; `None` for anything that cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number| *number > 0).map(Self)
    }
}

impl std::fmt::Display for MemoryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for MemoryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Who a memory belongs to: a person, or everybody. By default the owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Scope(String);

impl Scope {
    /// The scope with this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The scope of what everybody in the household may know.
    pub fn shared() -> Self {
        Self::from(&Person::everybody())
    }

    /// Parses the scope given when storing something: the owner, everybody or a member. Anything else is refused.
    pub fn given(name: &str) -> Result<Self> {
        let named = Self::named(name.trim());
        if named == Self::shared() || Person::member(named.as_str()).is_some() {
            return Ok(named);
        }
        Err(Error::invalid("scope must be owner, shared, or the name of somebody in the household"))
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is the owner's own.
    pub fn is_owners(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Scope {
    /// The owner's.
    fn default() -> Self {
        Self::from(&Person::default())
    }
}

impl From<&Person> for Scope {
    /// The scope of what only this person has told.
    fn from(person: &Person) -> Self {
        Self::named(person.as_str())
    }
}

/// A memory to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Who it belongs to.
    pub scope: Scope,
    /// Its text.
    pub content: String,
    /// Its category.
    pub category: String,
    /// Where it came from: `api`, or the session that it comes from.
    pub source: String,
}

impl NewMemory {
    /// A memory of the owner's. An empty category becomes [`GENERAL`]. A text without a word, or one that is too long,
    /// is refused.
    pub fn new(content: &str, category: &str, source: &str) -> Result<Self> {
        Ok(Self {
            scope: Scope::default(),
            content: checked_content(content)?,
            category: checked_category(category)?,
            source: source.chars().take(MAX_WORD).collect(),
        })
    }

    /// Sets who it belongs to.
    #[must_use]
    pub fn of(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }
}

/// A change of a memory; absent fields stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Correction {
    /// The new text.
    pub content: Option<String>,
    /// The new category.
    pub category: Option<String>,
    /// Where the correction came from; empty to keep the source.
    pub source: String,
    /// The expected state of the memory.
    pub expected: Expected,
}

impl Correction {
    /// Validates a correction as a new memory is validated.
    pub fn new(content: Option<&str>, category: Option<&str>, source: &str) -> Result<Self> {
        Ok(Self {
            content: content.map(checked_content).transpose()?,
            category: category.map(checked_category).transpose()?,
            source: source.chars().take(MAX_WORD).collect(),
            expected: Expected::Anything,
        })
    }

    /// Sets the expected state of the memory.
    #[must_use]
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }
}

fn checked_content(content: &str) -> Result<String> {
    let content = content.trim();
    if fingerprint(content).is_none() {
        return Err(Error::invalid("content must not be empty: say in a sentence what is to be remembered"));
    }
    if content.chars().count() > MAX_LEN {
        return Err(Error::invalid(format!(
            "content is longer than {MAX_LEN} characters: remember the facts, and keep the text in a file"
        )));
    }
    Ok(content.to_owned())
}

fn checked_category(category: &str) -> Result<String> {
    let category = category.trim();
    if category.chars().count() > MAX_WORD || category.chars().any(char::is_control) {
        return Err(Error::invalid(format!("category must be one line of at most {MAX_WORD} characters")));
    }
    Ok(if category.is_empty() { GENERAL.to_owned() } else { category.to_owned() })
}

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryEntry {
    /// Its number.
    pub id: MemoryId,
    /// Who it belongs to; left out for the owner's own.
    #[serde(skip_serializing_if = "Scope::is_owners")]
    pub scope: Scope,
    /// Its text.
    pub content: String,
    /// Its category.
    pub category: String,
    /// Where it came from.
    pub source: String,
    /// When it was first stored.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// When it was last corrected, or stored.
    #[serde(serialize_with = "crate::time::serialize")]
    pub updated_at: Timestamp,
    /// When a model was last shown it.
    #[serde(serialize_with = "maybe")]
    pub last_recalled_at: Option<Timestamp>,
}

impl MemoryEntry {
    /// Returns its version, which a recall does not change.
    pub fn version(&self) -> Version {
        let (id, changed) = (self.id.to_string(), self.updated_at.to_string());
        Version::of([&*id, self.scope.as_str(), &*self.content, &*self.category, &*changed])
    }
}

fn maybe<S: Serializer>(moment: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => crate::time::serialize(moment, serializer),
        None => serializer.serialize_none(),
    }
}

/// The result of storing a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The memory, which may have existed before.
    pub entry: MemoryEntry,
    /// Whether it is new.
    pub is_new: bool,
}

/// A memory with its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MemoryShown")]
pub struct MemoryRecord {
    /// The memory.
    #[serde(flatten)]
    pub entry: MemoryEntry,
    /// Earlier versions, newest first.
    pub history: Vec<MemoryVersion>,
}

/// An earlier version of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryVersion {
    /// Its text.
    pub content: String,
    /// Its category.
    pub category: String,
    /// Where it came from.
    pub source: String,
    /// When it was replaced.
    #[serde(serialize_with = "crate::time::serialize")]
    pub replaced_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_memories_are_refused_with_their_field() {
        let check = |content: &str, category: &str, expected: Result<(&str, &str), &str>| match (
            NewMemory::new(content, category, "api"),
            expected,
        ) {
            (Ok(memory), Ok((content, category))) => {
                assert_eq!((memory.content.as_str(), memory.category.as_str()), (content, category));
            }
            (Err(error), Err(word)) => assert!(error.is_invalid() && error.to_string().contains(word)),
            (result, _) => panic!("{result:?} of {content:?}"),
        };
        check("  Rent is due on the 5th. ", " ", Ok(("Rent is due on the 5th.", GENERAL)));
        check("x", "home", Ok(("x", "home")));
        check("", "", Err("content"));
        check(" ?! … ", "", Err("content"));
        check(&"x".repeat(MAX_LEN + 1), "", Err("content"));
        check("x", &"x".repeat(65), Err("category"));
        check("x", "a\nb", Err("category"));
    }

    #[test]
    fn ids_are_numbers_above_nought() {
        assert_eq!(MemoryId::parse(" 17 "), Some(MemoryId(17)));
        assert!(
            ["", "0", "-1", "x", "1.5", "99999999999999999999"]
                .iter()
                .all(|id| MemoryId::parse(id).is_none())
        );
    }
}
