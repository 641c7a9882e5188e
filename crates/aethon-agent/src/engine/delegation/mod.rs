//! Asking a specialist: one tool `ask_NAME` for each, whose call is a turn of that agent in a session of its own.
//!
//! Nothing is special about that turn: it uses the same door, hooks, approvals, meter, storage and recording.
//! Questions to a person go to the watchers of the calling turn; stopping that turn stops it too; only its answer
//! comes back. If the specialist has seen outside content, the answer is marked as such. After a crash it is closed
//! as interrupted and not resumed: the calling turn is notified and decides how to proceed.

mod ask;
mod conversations;
mod delegated;
mod stop;
mod surface;

pub(super) use self::delegated::Delegation;

/// The channel of specialists' sessions.
const CHANNEL: &str = "agent";
