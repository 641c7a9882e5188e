//! Asking the memory: searching, listing, counting.

use serde::Serialize;

use super::entry::MemoryEntry;
use super::reach::Reach;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryQuery {
    /// Whose memories.
    pub reach: Reach,
    /// A question or words, as somebody types them.
    pub text: String,
    /// The same as a vector, where somebody makes vectors.
    pub vector: Option<QueryVector>,
    /// Only memories that are filed under this.
    pub category: Option<String>,
    /// The most hits.
    pub limit: usize,
    /// Who asks, and so what is good enough.
    pub purpose: Purpose,
}

impl MemoryQuery {
    /// The best of the owner's memories, for somebody who looks.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            reach: Reach::default(),
            text: text.into(),
            vector: None,
            category: None,
            limit,
            purpose: Purpose::Look,
        }
    }

    /// Of somebody else.
    #[must_use]
    pub fn of(self, reach: impl Into<Reach>) -> Self {
        Self { reach: reach.into(), ..self }
    }

    /// For another purpose.
    #[must_use]
    pub fn for_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Only what is filed under this, if it is given.
    #[must_use]
    pub fn in_category(self, category: Option<String>) -> Self {
        Self { category, ..self }
    }

    /// With the text as a vector.
    #[must_use]
    pub fn with_vector(self, vector: Option<QueryVector>) -> Self {
        Self { vector, ..self }
    }
}

/// A text as a vector of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    /// The model; vectors of others cannot be compared with it.
    pub model: String,
    /// The vector.
    pub numbers: Vec<f32>,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A person looks: whatever fits in part is worth showing.
    Look,
    /// A model looks: the same, and the hits count as recalled.
    Ask,
    /// Nobody asked; it is for the model to know. Only what clearly fits, and the hits count as recalled.
    Recall,
}

/// A memory that fits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryHit {
    /// The memory.
    #[serde(flatten)]
    pub entry: MemoryEntry,
    /// How well it fits, from 0 to 1; only to be compared with others of the same search.
    pub score: f64,
    /// What it was found by: its words that match, its meaning, or both.
    pub why: String,
}

/// A page of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryListing {
    /// Whose memories.
    pub reach: Reach,
    /// Words that all have to be there, the last one perhaps not typed to its end.
    pub words: String,
    /// Only memories that are filed under this.
    pub category: Option<String>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// The most memories.
    pub limit: usize,
}

impl MemoryListing {
    /// The owner's memories that were changed last.
    pub fn newest(limit: usize) -> Self {
        Self { reach: Reach::default(), words: String::new(), category: None, cursor: None, limit }
    }

    /// Of somebody else.
    #[must_use]
    pub fn of(self, reach: impl Into<Reach>) -> Self {
        Self { reach: reach.into(), ..self }
    }

    /// Only those with these words.
    #[must_use]
    pub fn with_words(self, words: impl Into<String>) -> Self {
        Self { words: words.into(), ..self }
    }

    /// Only what is filed under this, if it is given.
    #[must_use]
    pub fn in_category(self, category: Option<String>) -> Self {
        Self { category, ..self }
    }

    /// From where another page ended.
    #[must_use]
    pub fn from_cursor(self, cursor: Option<String>) -> Self {
        Self { cursor, ..self }
    }
}

/// Some memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPage {
    /// The memories.
    pub entries: Vec<MemoryEntry>,
    /// How many there are on all pages.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// How much is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// How many memories.
    pub entries: u64,
    /// How many of each category, the largest first.
    pub categories: Vec<(String, u64)>,
    /// How many have a vector.
    pub with_vector: u64,
    /// How many were ever recalled.
    pub recalled: u64,
    /// How many earlier versions are kept.
    pub versions: u64,
}
