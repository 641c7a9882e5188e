//! Sockets that are keys: `table` lists them by kind, `closed` says which there are now, and which of them the owner has
//! opened with `security.allowed_sockets`.

mod closed;
mod table;

pub(crate) use closed::ClosedSockets;
pub use closed::{socket_kinds, socket_variables};
