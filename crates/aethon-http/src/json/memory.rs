//! The documents of long-term memory. The API answers with these, and the terminal prints the same when no daemon runs.

use std::collections::BTreeMap;

use aethon_core::error::Result;
use aethon_core::memory::{Memory, MemoryEntry, MemoryHit, MemoryListing, MemoryQuery, Reach};
use serde::Serialize;

/// A page of memories.
#[derive(Debug, Default, Serialize)]
pub struct MemoryList {
    /// Whether there is a memory.
    pub enabled: bool,
    /// How many match in all.
    pub count: u64,
    /// The memories, those that were changed last first.
    pub entries: Vec<MemoryEntry>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// What a search has found.
#[derive(Debug, Serialize)]
pub struct MemoryResults {
    /// The best first.
    pub results: Vec<MemoryHit>,
}

/// How much is remembered.
#[derive(Debug, Default, Serialize)]
pub struct MemoryNumbers {
    /// Whether there is a memory.
    pub enabled: bool,
    /// How many memories.
    pub count: u64,
    /// How many of each category.
    pub categories: BTreeMap<String, u64>,
    /// How many can be found by their meaning.
    pub with_vector: u64,
    /// How many were ever shown to a model.
    pub recalled: u64,
    /// How many earlier versions are kept.
    pub versions: u64,
}

/// A page; of nothing, where there is no memory.
pub async fn memories(memory: Option<&dyn Memory>, listing: MemoryListing) -> Result<MemoryList> {
    let Some(memory) = memory else { return Ok(MemoryList::default()) };
    let page = memory.list(listing).await?;
    let (count, entries, next_cursor) = (page.count, page.entries, page.next_cursor);
    Ok(MemoryList { enabled: true, count, entries, next_cursor })
}

/// What fits a question.
pub async fn memory_results(memory: &dyn Memory, query: MemoryQuery) -> Result<MemoryResults> {
    Ok(MemoryResults { results: memory.search(query).await? })
}

/// How much there is, of everybody.
pub async fn memory_numbers(memory: Option<&dyn Memory>) -> Result<MemoryNumbers> {
    let Some(memory) = memory else { return Ok(MemoryNumbers::default()) };
    let stats = memory.stats(&Reach::All).await?;
    Ok(MemoryNumbers {
        enabled: true,
        count: stats.entries,
        categories: stats.categories.into_iter().collect(),
        with_vector: stats.with_vector,
        recalled: stats.recalled,
        versions: stats.versions,
    })
}
