//! PostgreSQL storage of the Aethon assistant: the same promises as the SQLite file, on a server that several machines share.
//!
//! The entry point is [`Store`], which implements the storage traits of the core, like the store of that name in
//! `aethon-store`, whose modules these resemble table by table. What counts as a word and how matches are ranked comes from
//! [`aethon_core::finding`], so that both find the same.
//!
//! `db` is the server: its address, its connections and its format, and knows nothing of conversations. A transaction is work
//! that may run again: when its connection is lost it starts from the beginning, and an unconfirmed commit is
//! looked up by the token that it leaves, so nothing is stored twice. All writers take one lock, so that numbers grow in the order of
//! commits. Nothing that is stored is tied to a session of the server, so a pooler in transaction mode may stand in between. Only
//! the notes that instances send each other (`peers`) are: they come by `LISTEN` on a connection of its own.
//!
//! Most other modules hold the statements of one table, as in `aethon-store`; `search` finds sessions by words, `history`
//! passages of one session, `turn_log` and `transcripts` combine them into the traits.

mod agent_runs;
mod audit;
mod bin;
mod channel_records;
mod clock_jumps;
mod clocks;
mod db;
mod error;
mod growth;
mod history;
mod import;
mod instances;
mod job_runs;
mod jobs;
mod learned;
mod ledger;
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
mod peers;
mod purge;
mod rows;
mod search;
mod sessions;
mod sop_runs;
mod sort_value;
mod store;
mod telemetry;
#[cfg(feature = "testkit")]
pub mod testkit;
mod time;
mod transcripts;
mod turn_log;
mod turns;
mod vectors;
mod versions;
mod works;

pub use error::Error;
pub use owner::LeaseClock;
pub use rows::ServerRows;
pub use store::{OpenMode, Options, Store};

/// Result whose error defaults to [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
