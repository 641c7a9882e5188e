//! The operations on memories for tools, hooks and clients, and the additional ones of a backend.

use async_trait::async_trait;

use super::entry::{Correction, MemoryEntry, MemoryId, MemoryRecord, NewMemory, Stored};
use super::query::{MemoryHit, MemoryListing, MemoryPage, MemoryQuery, MemoryStats};
use super::reach::Reach;
use crate::error::Result;
use crate::version::Expected;

/// Long-term memory.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Stores a text, unless there is one that differs only in case, blanks and punctuation.
    async fn store(&self, memory: NewMemory) -> Result<Stored>;

    /// Replaces the text of a memory, and keeps the old one as history. Refused if the memory is not as expected.
    async fn correct(&self, reach: &Reach, id: MemoryId, correction: Correction) -> Result<MemoryEntry>;

    /// Removes a memory with its history, if it is as expected. `false` if there is none with this id.
    async fn forget(&self, reach: &Reach, id: MemoryId, expected: Expected) -> Result<bool>;

    /// Returns a memory with its history.
    async fn show(&self, reach: &Reach, id: MemoryId) -> Result<Option<MemoryRecord>>;

    /// Returns a page of memories, most recently changed first.
    async fn list(&self, listing: MemoryListing) -> Result<MemoryPage>;

    /// Returns the best matching memories, best first. A search for recall records on each hit that it was recalled.
    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>>;

    /// Returns statistics.
    async fn stats(&self, reach: &Reach) -> Result<MemoryStats>;
}

/// The additional operations of a backend.
#[async_trait]
pub trait MemoryStorage: Memory {
    /// Returns some memories of any scope that have no vector of this model, oldest first.
    async fn without_vector(&self, model: &str, limit: usize) -> Result<Vec<(MemoryId, String)>>;

    /// Stores vectors of this model, replacing any others. A vector whose memory has changed meanwhile is dropped.
    async fn put_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> Result<()>;
}

/// The vector of a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryVector {
    /// The memory.
    pub id: MemoryId,
    /// The text that it was computed from.
    pub content: String,
    /// The vector.
    pub numbers: Vec<f32>,
}
