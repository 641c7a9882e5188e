//! Queries to the memory: searching, listing, counting.

use schemars::JsonSchema;
use serde::Serialize;

use super::entry::MemoryEntry;
use super::reach::Reach;
use crate::words::setters;

/// A search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryQuery {
    /// Whose memories to search.
    pub reach: Reach,
    /// A question or words, as typed.
    pub text: String,
    /// The same as a vector, if vectors are available.
    pub vector: Option<QueryVector>,
    /// Only memories of this category.
    pub category: Option<String>,
    /// The most hits.
    pub limit: usize,
    /// The purpose, which determines how close a match must be.
    pub purpose: Purpose,
}

impl MemoryQuery {
    /// Searches the owner's memories, for a person who looks.
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

    /// Searches the memories of another person.
    #[must_use]
    pub fn of(self, reach: impl Into<Reach>) -> Self {
        Self { reach: reach.into(), ..self }
    }

    setters! {
        /// Sets the purpose.
        pub fn for_purpose(purpose: Purpose);
        /// Restricts the search to this category, if given.
        pub fn in_category(category: Option<String>);
        /// Adds the text as a vector.
        pub fn with_vector(vector: Option<QueryVector>);
    }
}

/// A text as a vector of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    /// The model; vectors of other models cannot be compared with it.
    pub model: String,
    /// The vector.
    pub numbers: Vec<f32>,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A person looks: partial matches are worth showing.
    Look,
    /// A model looks: the same, and the hits count as recalled.
    Ask,
    /// Context for the model, without a question. Only clear matches, and the hits count as recalled.
    Recall,
}

/// A memory that matches.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MemoryHit {
    /// The memory.
    #[serde(flatten)]
    pub entry: MemoryEntry,
    /// How well it matches, from 0 to 1; comparable only within one search.
    pub score: f64,
    /// Why it was found: by its words, its meaning, or both.
    pub why: String,
}

/// A page of the list of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryListing {
    /// Whose memories to list.
    pub reach: Reach,
    /// Words that must all occur, the last one possibly incomplete.
    pub words: String,
    /// Only memories of this category.
    pub category: Option<String>,
    /// The `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// The most memories.
    pub limit: usize,
}

impl MemoryListing {
    /// Lists the owner's most recently changed memories.
    pub fn newest(limit: usize) -> Self {
        Self { reach: Reach::default(), words: String::new(), category: None, cursor: None, limit }
    }

    /// Lists the memories of another person.
    #[must_use]
    pub fn of(self, reach: impl Into<Reach>) -> Self {
        Self { reach: reach.into(), ..self }
    }

    /// Restricts the list to memories with these words.
    #[must_use]
    pub fn with_words(self, words: impl Into<String>) -> Self {
        Self { words: words.into(), ..self }
    }

    setters! {
        /// Restricts the list to this category, if given.
        pub fn in_category(category: Option<String>);
        /// Continues where another page ended.
        pub fn from_cursor(cursor: Option<String>);
    }
}

/// A page of memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPage {
    /// The memories.
    pub entries: Vec<MemoryEntry>,
    /// How many there are on all pages.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// Statistics of a memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// How many memories.
    pub entries: u64,
    /// How many in each category, the largest first.
    pub categories: Vec<(String, u64)>,
    /// How many have a vector.
    pub with_vector: u64,
    /// How many have ever been recalled.
    pub recalled: u64,
    /// How many earlier versions are kept.
    pub versions: u64,
}
