//! Renders a text that is still growing.
//!
//! A block that begins on a complete line closes all blocks before it for good. On an incomplete line it does not: a
//! lone `-` begins a list, but `-x` does not. So only the source from the last such block on is kept and reparsed,
//! along with a hash of each block already sent. The one exception, a link whose definition comes in a later block,
//! is corrected by [`Incremental::finish`], which renders the whole text.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::parse;

/// Follows a growing text and reports which of its blocks changed.
#[derive(Debug, Default)]
pub(crate) struct Incremental {
    /// The source from the last stable boundary on.
    tail: String,
    /// Whether the text so far ends in a carriage return, whose line feed may follow.
    ends_in_return: bool,
    /// The number of blocks before the tail.
    settled: usize,
    /// A hash of every block that was reported.
    told: Vec<u64>,
    /// Whether text was added since the last [`Incremental::changes`].
    is_dirty: bool,
}

/// The final state of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    /// The first block that differs from the reported ones.
    pub(crate) from: usize,
    /// The blocks from there on, or `None` if nothing differs.
    pub(crate) changed: Option<Vec<String>>,
    /// The HTML of the whole text.
    pub(crate) html: String,
}

impl Incremental {
    /// Appends text.
    pub(crate) fn push(&mut self, text: &str) {
        self.is_dirty |= !text.is_empty();
        for (index, line) in text.split('\r').enumerate() {
            // Every carriage return ends a line, including a line feed right after it.
            let follows_return = index > 0 || self.ends_in_return;
            if index > 0 {
                self.tail.push('\n');
            }
            let line = if follows_return { line.strip_prefix('\n').unwrap_or(line) } else { line };
            self.tail.push_str(&parse::normalised(line));
        }
        if !text.is_empty() {
            self.ends_in_return = text.ends_with('\r');
        }
    }

    /// Replaces the whole text by a shorter one.
    pub(crate) fn restart(&mut self, text: &str) {
        (self.tail, self.settled, self.ends_in_return) = (String::new(), 0, false);
        self.push(text);
        self.is_dirty = true;
    }

    /// Returns whether there may be changes to report.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Returns whether any block was reported.
    pub(crate) fn has_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// Returns the blocks that changed since the last call. They replace all blocks from the given index on.
    pub(crate) fn changes(&mut self) -> Option<(usize, Vec<String>)> {
        if !std::mem::take(&mut self.is_dirty) {
            return None;
        }
        let pieces = parse::pieces(&self.tail);
        let whole_lines = self.tail.rfind('\n').unwrap_or(0);
        let boundary = pieces.iter().rev().find(|piece| piece.can_begin && piece.offset <= whole_lines);
        let boundary = boundary.map_or(0, |piece| piece.offset);
        let closed = pieces.iter().take_while(|piece| piece.offset < boundary).count();
        let blocks: Vec<String> = pieces.into_iter().map(|piece| piece.html).collect();
        let changes = self.tell(self.settled, blocks);
        self.tail.drain(..boundary);
        self.settled += closed;
        changes
    }

    /// Renders the complete text. Returns the blocks that differ from those reported, and the HTML of all.
    pub(crate) fn finish(mut self, whole: &str) -> Finished {
        let blocks = parse::blocks(whole);
        let html = blocks.concat();
        let (from, changed) = match self.tell(0, blocks) {
            Some((from, changed)) => (from, Some(changed)),
            None => (self.told.len(), None),
        };
        Finished { from, changed, html }
    }

    /// Compares the blocks from `start` on with those reported, and remembers them.
    fn tell(&mut self, start: usize, mut blocks: Vec<String>) -> Option<(usize, Vec<String>)> {
        let hashes: Vec<u64> = blocks.iter().map(|block| hash(block)).collect();
        let told = self.told.get(start..).unwrap_or_default();
        let same = told.iter().zip(&hashes).take_while(|(one, other)| one == other).count();
        if same == told.len() && same == hashes.len() {
            return None;
        }
        self.told.truncate(start);
        self.told.extend(hashes);
        blocks.drain(..same);
        Some((start + same, blocks))
    }
}

fn hash(block: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    block.hash(&mut hasher);
    hasher.finish()
}
