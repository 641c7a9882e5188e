//! SQLite storage of the Aethon assistant: sessions, messages, the inbox and the outbox in one file.
//!
//! Its idea: one thread owns the only connection that writes, and everything that waits for it is committed together.
//! So a write is one queue, one transaction and one answer, however many callers there are, and no caller ever sees an
//! acknowledgement before the commit that it stands for. Reads go to connections of their own and never wait for it.
//!
//! The way in is [`Store`], which is [`aethon_core::session::TurnLog`], [`aethon_core::session::Transcripts`],
//! [`aethon_core::channel::Outbox`], [`aethon_core::ledger::Ledger`], [`aethon_core::embed::EmbeddingCache`],
//! [`aethon_core::history::History`], [`aethon_core::learned::ModelMemory`], [`aethon_core::memory::MemoryStorage`] and [`aethon_core::audit::AuditLog`] at once. Rooms: `db` is the file, its threads and its versions, and knows nothing of
//! conversations; `sessions`, `messages`, `turns` (the inbox), `owners`, `outbox` hold the statements of one table each; `ledger`
//! counts money; `vectors` keeps them; `search` finds the sessions that have some words, `history` the passages of one; `learned` keeps what was learnt about models; `memory` is long-term memory; `audit` what was allowed and refused; `telemetry` what was measured; `listing` makes pages of sessions; `purge` and `maintenance` remove; `marks` remembers from run to run; `jobs`, `job_runs` and `sop_runs` keep timed jobs, their runs and runs of SOPs; `agent_runs` what agents have done, `works` work of more than one turn; `import` makes whole conversations; `turn_log` and `transcripts` put
//! them together into the traits.

mod agent_runs;
mod audit;
mod channel_records;
mod db;
mod error;
mod history;
mod import;
mod job_runs;
mod jobs;
mod learned;
mod ledger;
mod listing;
mod maintenance;
mod marks;
mod memory;
mod messages;
mod outbox;
mod owners;
mod purge;
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
mod works;

pub use error::Error;
pub use maintenance::Health;
pub use store::{OpenMode, Options, Store};

/// A shorthand.
pub type Result<T, E = Error> = std::result::Result<T, E>;
