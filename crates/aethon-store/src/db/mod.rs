//! The database file: who may open it, who writes, who reads, and which schema version it has.
//!
//! This module knows nothing of the content; jobs come in as closures over [`Sql`].

mod background_queue;
mod capacity;
mod checkpoints;
mod commits;
mod connection;
mod copy;
mod damage;
mod file;
mod file_identity;
mod idle_tasks;
pub(crate) mod indexes;
mod job;
mod log_link;
mod migrate;
mod open;
#[cfg(test)]
mod plans;
mod readers;
mod reading;
mod salvage;
mod sibling;
mod sql;
mod start_check;
mod tables;
mod upgrade;
mod writer;

pub(crate) use capacity::{free_pages, used_bytes};
pub(crate) use commits::in_transaction;
pub use copy::{CopyFacts, Progress, format, is_open_elsewhere, make, verify};
pub(crate) use damage::note_damage;
pub(crate) use job::{BackgroundTasks, CommitTiming, IdleTask, OnStorageFailure};
pub(crate) use log_link::mark;
pub(crate) use migrate::{VERSION, create_at, finish};
pub(crate) use open::{Opened, Settings, Upgrade, create_alone, open_or_read};
pub(crate) use readers::Readers;
pub(crate) use salvage::{TableSalvage, salvage};
pub(crate) use sql::Sql;
pub(crate) use start_check::mend_indexes;
pub(crate) use tables::{bound, cells, describe, last_key};
pub(crate) use upgrade::remove_partial_copies;
pub use upgrade::{OldCopy, copy_name, free_space, of_upgrades, space_for_upgrade};
pub(crate) use writer::Writer;
