//! The file: who may touch it, who writes, who reads, which version it has.
//!
//! Nothing here knows what is stored; jobs come as closures over [`Sql`].

mod checkpoints;
mod chores;
mod file;
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
pub(crate) use writer::{Chore, Writer, in_transaction};

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// A crash of the process.
    #[default]
    Normal,
    /// A loss of power.
    Full,
}
