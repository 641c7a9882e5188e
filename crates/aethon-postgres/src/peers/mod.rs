//! The notes that the daemons of a database send each other, by `LISTEN` and `NOTIFY`.
//!
//! A daemon gathers its notes for a moment and sends them as one batch, in one transaction (`sending`). A notification takes less
//! than 8000 bytes, so a batch is cut into pieces, which the receiver joins (`pieces`). The receiver has a connection of its own,
//! makes it anew when it is lost, and then says that notes may be missing (`receiving`). Nothing here is stored.

mod link;
mod pieces;
mod receiving;
mod sending;

pub(crate) use link::Link;
