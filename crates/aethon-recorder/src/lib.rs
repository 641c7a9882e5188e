//! Recordings of sessions: what happened, event by event, and the state after each turn, in a ZIP that anyone can open.
//!
//! While a session runs, its recording is an append-only journal; a crash loses only unwritten records, and the
//! next start turns the journal into its ZIP. Turns never wait for any of this: a hook ([`Recorder::hook`]) and a
//! wrapped storage ([`Recorder::watch`]) put their observations on a bounded queue, and one thread writes. A ZIP may come
//! from a stranger, so reading one ([`Library`]) refuses everything out of the ordinary, and unpacks nothing to disk.
//!
//! Modules, from the turns to the file: `hook` and `watched` observe, `tracker` knows which messages the last snapshot has,
//! then come `queue`, `writer`, `live_recording` (one running recording), `mask` (secrets), `journal`, `pack` (journal to
//! archive) and `retention`. For reading: `opened` (one recording), `running` (those that are being written), `library` (all
//! of them). `record` defines the stored formats, `names` the file names, `seal` how a home recognises its own recordings.
//! Their meaning to others is defined in [`aethon_core::recording`].

mod error;
mod event;
#[cfg(test)]
mod fuzz;
mod hook;
mod journal;
mod library;
mod live_recording;
mod mask;
mod names;
mod opened;
mod options;
mod pack;
mod queue;
mod record;
mod recorder;
mod retention;
mod running;
mod seal;
mod shared;
mod tracker;
mod watched;
mod writer;

pub use error::{Error, Result};
pub use library::Library;
pub use options::{Keep, Options};
pub use recorder::Recorder;
pub use seal::Seal;
pub use shared::Status;
