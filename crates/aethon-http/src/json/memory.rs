//! Documents about long-term memory. The API returns them, and the terminal prints the same ones when no daemon runs.

use std::collections::BTreeMap;

use aethon_core::error::Result;
use aethon_core::memory::{Memory, MemoryEntry, MemoryHit, MemoryListing, MemoryQuery, Reach};
use schemars::JsonSchema;
use serde::Serialize;

/// A page of memories.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct MemoryList {
    /// Whether memory is enabled.
    pub enabled: bool,
    /// How many match in total.
    pub count: u64,
    /// The memories, most recently changed first.
    pub entries: Vec<MemoryEntry>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// The results of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryResults {
    /// The hits, best first.
    pub results: Vec<MemoryHit>,
}

/// Statistics about memory.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "MemoryStats")]
pub struct MemoryNumbers {
    /// Whether memory is enabled.
    pub enabled: bool,
    /// The number of memories.
    pub count: u64,
    /// The number in each category.
    pub categories: BTreeMap<String, u64>,
    /// How many can be found by meaning.
    pub with_vector: u64,
    /// How many have ever been shown to a model.
    pub recalled: u64,
    /// How many earlier versions are kept.
    pub versions: u64,
}

/// Returns a page of memories, empty if memory is disabled.
pub async fn memories(memory: Option<&dyn Memory>, listing: MemoryListing) -> Result<MemoryList> {
    let Some(memory) = memory else { return Ok(MemoryList::default()) };
    let page = memory.list(listing).await?;
    let (count, entries, next_cursor) = (page.count, page.entries, page.next_cursor);
    Ok(MemoryList { enabled: true, count, entries, next_cursor })
}

/// Searches the memories.
pub async fn memory_results(memory: &dyn Memory, query: MemoryQuery) -> Result<MemoryResults> {
    Ok(MemoryResults { results: memory.search(query).await? })
}

/// Counts the memories of all people.
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
