//! Long-term memory: facts that outlast a conversation, and how they are found again.
//!
//! A memory is a short text with a category and a source. What says the same as one that is there is no new one; a
//! correction takes the place of what was said before, which stays as history. Each belongs to a [`Scope`], and who looks
//! says how far: [`Reach`]. So nobody is shown the memories of somebody else.
//!
//! [`Memory`] is what tools, doors and hooks work with. A backend implements [`MemoryStorage`], which adds the vectors that
//! are made in the background. Between the two stands the facade, which refuses secrets ([`MemoryGuard`]) on every way in.

mod entry;
mod fingerprint;
pub mod guard;
mod query;
mod reach;

use async_trait::async_trait;

pub use entry::{Correction, MemoryEntry, MemoryId, MemoryRecord, MemoryVersion, NewMemory, Scope, Stored};
pub use fingerprint::fingerprint;
pub use guard::MemoryGuard;
pub use query::{MemoryHit, MemoryListing, MemoryPage, MemoryQuery, MemoryStats, Purpose, QueryVector};
pub use reach::Reach;

use crate::error::Result;

/// The longest memory, in characters. Longer texts are documents and belong into files.
pub const LONGEST: usize = 8_000;

/// The longest category and the longest source, in characters.
pub const LONGEST_WORD: usize = 64;

/// What a memory is filed under when nobody says.
pub const GENERAL: &str = "general";

/// Long-term memory.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Keeps a text, unless one is there that says the same but for case, blanks and punctuation.
    async fn store(&self, memory: NewMemory) -> Result<Stored>;

    /// Puts something else in the place of what a memory says, and keeps what it said as history.
    async fn correct(&self, reach: &Reach, id: MemoryId, correction: Correction) -> Result<MemoryEntry>;

    /// Removes a memory with its history. `false` when there is none of this id.
    async fn forget(&self, reach: &Reach, id: MemoryId) -> Result<bool>;

    /// A memory and what it said before.
    async fn show(&self, reach: &Reach, id: MemoryId) -> Result<Option<MemoryRecord>>;

    /// A page of memories, those that were changed last first.
    async fn list(&self, listing: MemoryListing) -> Result<MemoryPage>;

    /// The memories that fit best, the best first. A search for recall notes on each hit that it was recalled.
    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>>;

    /// How much there is.
    async fn stats(&self, reach: &Reach) -> Result<MemoryStats>;
}

/// Where memories are kept: what else a backend does for them.
#[async_trait]
pub trait MemoryStorage: Memory {
    /// Some memories of any scope that have no vector of this model, the oldest first.
    async fn without_vector(&self, model: &str, limit: usize) -> Result<Vec<(MemoryId, String)>>;

    /// Keeps vectors of this model in place of any others. One whose memory says something else meanwhile is dropped.
    async fn put_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> Result<()>;
}

/// The vector of a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryVector {
    /// The memory.
    pub id: MemoryId,
    /// The text that it was made of.
    pub content: String,
    /// The vector.
    pub numbers: Vec<f32>,
}
