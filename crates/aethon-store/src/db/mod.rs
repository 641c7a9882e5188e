//! The file: who may touch it, who writes, who reads, which version it has.
//!
//! Nothing here knows what is stored; jobs come as closures over [`Sql`].

mod checkpoints;
mod file;
mod idle_tasks;
mod migrate;
mod open;
#[cfg(test)]
mod plans;
mod readers;
mod sql;
mod writer;

pub(crate) use migrate::VERSION;
pub(crate) use open::{Settings, open};
pub(crate) use readers::Readers;
pub(crate) use sql::Sql;
pub(crate) use writer::{IdleTask, Writer, in_transaction};
