//! Errors of the storage.
//!
//! Opaque outside. SQLite's result codes are classified once, here, so that no other module compares them; `words` chooses
//! the sentence and the remedy by the cause, for the server, the terminal and `doctor` alike. Errors of
//! the core's traits ([`aethon_core::error::Error`]) pass through unchanged: a missing turn is no failure of the
//! storage.

mod obstacle;
mod store_error;
mod words;

pub(crate) use obstacle::Obstacle;
pub use store_error::Error;
