//! Builds the guarded memory from `[memory]`.

use std::sync::Arc;

use aethon_config::schema;
use aethon_core::embed::Embedder;
use aethon_core::live::Live;
use aethon_core::memory::{Memory, Reach};
use aethon_core::storage::Storage;
use aethon_guard::MemoryGuard;
use aethon_guard::redact::Redactor;

use crate::error::{Error, Result};
use crate::memory::GuardedMemory;
use crate::prepared::Prepared;

/// The guard that keeps secrets out. The owner's patterns were checked before the start.
pub(crate) fn guard(options: &schema::Memory, redactor: Live<Redactor>) -> Result<MemoryGuard> {
    MemoryGuard::new(redactor, &options.guard_patterns)
        .map_err(|error| Error::refused(format!("memory.guard_patterns: {error}")).because(error))
}

/// The memory, if enabled.
pub(crate) fn memory(
    options: &schema::Memory,
    storage: &Storage,
    guard: MemoryGuard,
    embedder: Option<Arc<dyn Embedder>>,
) -> Option<GuardedMemory> {
    options.enabled.then(|| GuardedMemory::new(storage.memory.clone(), guard, embedder))
}

/// Describes how memories are found and recalled.
pub(crate) fn sentence(prepared: &Prepared) -> String {
    let memory = &prepared.config.memory;
    if !memory.enabled {
        return "off (memory.enabled)".to_owned();
    }
    let found = match super::embedding::service(prepared) {
        Some((embedder, _)) => format!("full-text search and search by meaning ({})", embedder.model()),
        None => "full-text search".to_owned(),
    };
    let recall = if memory.auto_recall && memory.recall_top_k > 0 && memory.recall_max_chars > 0 {
        format!("up to {} relevant ones are recalled automatically", memory.recall_top_k)
    } else {
        "recalled only when the model searches".to_owned()
    };
    format!("{found}; {recall}")
}

/// Counts the memories, for `doctor`.
pub(crate) async fn amount(memory: &dyn Memory) -> Result<String> {
    let stats = memory.stats(&Reach::All).await?;
    Ok(format!("{} memories, {} with a vector", stats.entries, stats.with_vector))
}
