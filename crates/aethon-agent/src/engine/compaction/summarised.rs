//! A summary and the messages it covers: made by `passes`, kept by `slots`, swapped in by `compactor`.

use aethon_core::message::Block;
use aethon_core::weight::Weight as _;

use crate::window::Prefix;

/// A summary that may replace the messages it covers.
#[derive(Debug, Clone)]
pub(super) struct Summarised {
    /// The part of the window that it replaces.
    pub(super) prefix: Prefix,
    /// How many messages it covers, counting those that a model has seen and those in the digest.
    pub(super) messages: u64,
    /// The id of the first of them.
    pub(super) from: String,
    /// The last message that leaves the window.
    pub(super) to: String,
    /// Its text.
    pub(super) text: String,
    /// Whether a model has seen all of them.
    pub(super) is_whole: bool,
}

impl Summarised {
    /// Returns the bytes that it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.from.heap() + self.to.heap() + self.text.heap()
    }

    /// Returns the block that is stored and shown.
    pub(super) fn block(&self) -> Block {
        let Self { messages, from, to, text, .. } = self;
        Block::Folded { messages: *messages, from: from.clone(), to: to.clone(), summary: text.clone() }
    }
}
