//! Long-term memory: facts that outlast a conversation, and how they are found again.
//!
//! A memory is a short text with a category and a source. A text that says the same as an existing memory is not added
//! again; a correction replaces the current text, which is kept as history. Each memory belongs to a [`Scope`], and
//! every lookup states its [`Reach`], so that no person sees the memories of another.
//!
//! [`Memory`] is what tools, doors and hooks use. A backend implements [`MemoryStorage`], which adds the vectors that
//! are made in the background. The facade sits between the two and refuses secrets on every way in.

mod contract;
mod entry;
mod fingerprint;
mod query;
mod reach;

pub use contract::{Memory, MemoryStorage, MemoryVector};
pub use entry::{
    Correction, GENERAL, MAX_LEN, MAX_WORD, MemoryEntry, MemoryId, MemoryRecord, MemoryVersion, NewMemory,
    Scope, Stored,
};
pub use fingerprint::fingerprint;
pub use query::{MemoryHit, MemoryListing, MemoryPage, MemoryQuery, MemoryStats, Purpose, QueryVector};
pub use reach::Reach;
