//! Keeps the conversation within the model's context window. The transcript loses nothing.
//!
//! `conversation` is a turn's window and judges what fits; `compactor` makes it fit, step by step; `passes` turns the
//! messages that leave the window into a summary, part by part, and `summariser` calls a model for one part. `ahead`
//! does the same in the background at the end of a turn, so that the next one need not wait, and `slots` keeps the
//! results. None of them knows the turn: they take their inputs as arguments, so the turn and the background task use
//! the same code.

mod ahead;
mod compactor;
mod conversation;
mod passes;
mod silent;
mod slots;
mod summarised;
mod summariser;

pub(super) use ahead::compact_ahead;
pub(super) use compactor::Compactor;
pub(super) use conversation::{Allowance, Conversation};
pub(super) use slots::Ahead;
