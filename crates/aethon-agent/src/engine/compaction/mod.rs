//! Keeps the conversation within what the model can hold. The transcript loses nothing.
//!
//! `conversation` is the window of a turn and judges what fits; `compactor` makes it fit, step by step; `passes` turns what
//! leaves the window into a summary, part by part, and `summariser` asks a model for one part; `ahead` does the same in the
//! background, when a turn has ended, so that the next one need not wait, and `slots` keeps what it has
//! made. None of them knows the turn: they take what they
//! need as arguments, and the turn and the background use the same code.

mod ahead;
mod compactor;
mod conversation;
mod passes;
mod slots;
mod summarised;
mod summariser;

pub(super) use compactor::Compactor;
pub(super) use conversation::{Allowance, Conversation};
pub(super) use slots::Ahead;
