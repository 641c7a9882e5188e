//! A summary with what it stands for: made by `passes`, kept by `slots`, swapped in by `compactor`.

use aethon_core::message::Block;

use crate::window::Prefix;

/// A summary that may take the place of what it stands for.
#[derive(Debug, Clone)]
pub(super) struct Summarised {
    /// What it replaces.
    pub(super) prefix: Prefix,
    /// How many messages it stands for: those that a model has seen, and those that are in the digest.
    pub(super) messages: u64,
    /// The first of them.
    pub(super) from: String,
    /// The last message that leaves the window.
    pub(super) to: String,
    /// What it says.
    pub(super) text: String,
    /// Whether a model has seen all of them.
    pub(super) is_whole: bool,
}

impl Summarised {
    /// The block that is stored and shown.
    pub(super) fn block(&self) -> Block {
        let Self { messages, from, to, text, .. } = self;
        Block::Folded { messages: *messages, from: from.clone(), to: to.clone(), summary: text.clone() }
    }
}
