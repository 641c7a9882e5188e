//! Asking a specialist: a tool `ask_NAME` for each, whose call is a turn of that agent in a session of its own.
//!
//! Nothing is special about that turn: the same door, hooks, approvals, meter, storage and recording. Questions to a person
//! are put to whoever watches the turn that asked; a stop of that turn stops it; only its answer comes back. Where the
//! specialist has seen content from outside, the answer is marked as such. After a crash it is closed as interrupted and not
//! taken up again: the turn that asked learns that and decides.

mod ask;
mod conversations;
mod delegated;
mod stop;
mod surface;

pub(super) use self::delegated::Delegation;

/// The channel that the sessions of specialists belong to.
const CHANNEL: &str = "agent";
