//! Recordings of sessions: what happened, event by event, and the state after each turn, in a ZIP that anyone can open.
//!
//! While a session runs, its recording is a journal that is only ever appended; a crash loses what was not written yet, and
//! the next start turns the journal into its ZIP. Turns never wait for any of it: a hook ([`Recorder::hook`]) and a storage
//! that is watched ([`Recorder::watch`]) put what they see on a bounded queue, and one thread writes. A ZIP may come from a
//! stranger, so reading one ([`Library`]) refuses whatever is not as it must be, and unpacks nothing to a disk.
//!
//! Rooms, from the turns to the file: `hook` and `watched` see, `tracker` knows what is new since the last snapshot, `queue`,
//! `writer`, `live` (one recording that runs), `mask` (secrets), `journal`, `pack` (journal to ZIP), `retention`. Back again:
//! `zip`, `opened` (one recording), `running` (those that are being written), `library` (all of them). `record` has the forms that are written, `names` those of the
//! files. What a recording means to others is [`aethon_core::recording`].

mod error;
#[cfg(test)]
mod fuzz;
mod hex;
mod hook;
mod journal;
mod library;
mod live;
mod mask;
mod names;
mod opened;
mod pack;
mod queue;
mod record;
mod recorder;
mod retention;
mod running;
mod tracker;
mod watched;
mod writer;
mod zip;

pub use error::{Error, Result};
pub use library::Library;
pub use recorder::{Keep, Options, Recorder, Status};
