//! The database file: who may open it, who writes, who reads, and which schema version it has.
//!
//! This module knows nothing of what is stored; jobs come in as closures over [`Sql`].

mod background_queue;
mod capacity;
mod checkpoints;
mod commits;
mod connect;
mod copy;
mod copy_facts;
mod damage;
mod file;
mod file_identity;
mod idle_tasks;
pub(crate) mod indexes;
mod job;
mod log_link;
mod migrate;
mod names;
mod open;
#[cfg(test)]
mod plans;
mod readers;
mod reading;
mod salvage;
mod sql;
mod start_check;
mod transaction;
mod upgrade;
mod writer;

pub(crate) use capacity::{free_pages, used_bytes};
pub(crate) use connect::{Settings, Upgrade};
pub(crate) use copy::{copy, inspect, is_open_elsewhere, verify};
pub use copy_facts::{CopyFacts, OldCopy, Progress};
pub(crate) use damage::note_damage;
pub(crate) use job::{BackgroundTasks, CommitTiming, IdleTask, OnStorageFailure};
pub(crate) use log_link::mark;
pub(crate) use migrate::{VERSION, create_at, finish};
pub(crate) use open::{Opened, create_alone, open_or_read};
pub(crate) use readers::Readers;
pub(crate) use salvage::{TableSalvage, salvage};
pub(crate) use sql::Sql;
pub(crate) use start_check::mend_indexes;
pub(crate) use transaction::in_transaction;
pub(crate) use upgrade::{
    copies_of_upgrades, copy_name, free_space, remove_partial_copies, space_for_upgrade,
};
pub(crate) use writer::Writer;
