//! SQLite storage of the Aethon assistant: sessions, messages, the inbox and the outbox in one file.
//!
//! One thread owns the only connection that writes, and everything that waits for it is committed together. A write is
//! one queue, one transaction and one answer, however many callers there are, and no caller ever sees an
//! acknowledgement before the commit that it confirms. Reads use connections of their own and never wait for the
//! writer.
//!
//! The entry point is [`Store`], which implements the storage traits of the core: [`aethon_core::session::TurnLog`],
//! [`aethon_core::session::Transcripts`], [`aethon_core::channel::Outbox`], [`aethon_core::ledger::Ledger`],
//! [`aethon_core::embed::EmbeddingCache`], [`aethon_core::history::History`], [`aethon_core::learned::ModelMemory`],
//! [`aethon_core::memory::MemoryStorage`], [`aethon_core::audit::AuditLog`] and others.
//!
//! `db` is the file, its threads and its schema versions, and knows nothing of conversations. Most other modules hold
//! the statements of one table: `sessions`, `messages`, `turns` (the inbox), `owners`, `outbox`, `ledger`, `vectors`,
//! `learned`, `memory`, `audit`, `telemetry`, `marks`, `jobs`, `job_runs`, `sop_runs`, `agent_runs`, `works`. `search`
//! finds sessions by words, `history` finds passages of one session, `listing` pages through sessions, `import` creates
//! whole conversations, `purge` and `maintenance` remove. `turn_log` and `transcripts` combine them into the traits. `copy`,
//! `repair` and `rows` work on whole files: they make and check copies for backups, mend a damaged database, and move all rows from or
//! to another storage.

mod agent_runs;
mod audit;
mod bin;
mod channel_records;
mod clock_jumps;
pub mod copy;
mod db;
mod error;
mod growth;
mod history;
mod import;
mod job_runs;
mod jobs;
mod learned;
mod ledger;
mod lenient;
mod listing;
mod maintenance;
mod marks;
mod memory;
mod messages;
mod money;
mod oneshots;
mod opening;
mod outbox;
mod owner;
mod owners;
mod purge;
pub mod repair;
pub mod rows;
mod search;
mod sessions;
mod sop_runs;
mod store;
mod telemetry;
mod time;
mod transcripts;
mod turn_log;
mod turns;
mod vectors;
mod versions;
mod works;

pub use error::Error;
pub use maintenance::Health;
pub use store::{DefaultLimits, OpenMode, Options, Store, Upgrade};

/// Result whose error defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
