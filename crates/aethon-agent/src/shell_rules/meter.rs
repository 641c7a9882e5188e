//! The budget of one judgement, which everything is charged against before it is made.
//!
//! It is counted in steps (a command, a field, a pass of a loop) and in bytes of text, so the same command always comes out
//! the same, on a fast machine and on a slow one.

use super::refusal::Refusal;

/// How deep commands may run commands, in whatever way.
const DEEPEST: usize = 72;

/// What was used of the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meter {
    /// Steps so far.
    pub steps: usize,
    /// Bytes so far.
    pub bytes: usize,
    depth: usize,
}

impl Meter {
    /// The most steps.
    pub const MOST_STEPS: usize = 100_000;
    /// The most bytes of text that are read or made.
    pub const MOST_BYTES: usize = 2 << 20;

    /// Takes steps.
    pub(super) fn steps(&mut self, count: usize) -> Result<(), Refusal> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > Self::MOST_STEPS { Err(Refusal::TooInvolved) } else { Ok(()) }
    }

    /// Takes room for text. Small texts cost more than their bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Result<(), Refusal> {
        self.bytes = self.bytes.saturating_add(length).saturating_add(8);
        if self.bytes > Self::MOST_BYTES { Err(Refusal::TooInvolved) } else { Ok(()) }
    }

    /// Goes a level deeper.
    pub(super) fn enter(&mut self) -> Result<(), Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(Refusal::TooInvolved) } else { Ok(()) }
    }

    /// Comes back from there.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}
