//! An in-memory storage that follows the contract of [`Storage`](crate::storage::Storage): what it holds is gone with the
//! program. Temporary conversations live in one, and tests use it, with a script that makes it fail and wait.

mod audit;
mod history;
mod import;
mod jobs;
mod keeping;
mod listing;
mod memory;
mod models;
mod outbox;
mod owners;
mod records;
mod rows;
#[cfg(feature = "testkit")]
mod script;
#[cfg(feature = "testkit")]
mod scripted;
mod store;
mod tables;
mod telemetry;
mod transcripts;
mod turn_log;
mod upkeep;
mod work;

pub use store::MemoryStore;
