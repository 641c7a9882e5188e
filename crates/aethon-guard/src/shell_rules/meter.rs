//! The budget of one judgement. Everything is charged before it is made.
//!
//! It counts steps (a command, a field, a loop iteration) and bytes of text, not time, so the same command gets the
//! same verdict on a fast machine and on a slow one.

use super::refusal::Refusal;

/// How deep commands may run commands, by any means.
const MAX_DEPTH: usize = 72;

/// The used part of the budget.
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
    pub const MAX_STEPS: usize = 100_000;
    /// The most bytes of text that are read or made.
    pub const MAX_BYTES: usize = 2 << 20;

    /// Charges steps.
    pub(super) fn steps(&mut self, count: usize) -> Result<(), Refusal> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > Self::MAX_STEPS { Err(Refusal::TooInvolved) } else { Ok(()) }
    }

    /// Charges text. Small texts cost more than their bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Result<(), Refusal> {
        self.bytes = self.bytes.saturating_add(length).saturating_add(8);
        if self.bytes > Self::MAX_BYTES { Err(Refusal::TooInvolved) } else { Ok(()) }
    }

    /// Enters a nested level.
    pub(super) fn enter(&mut self) -> Result<(), Refusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Refusal::TooInvolved) } else { Ok(()) }
    }

    /// Leaves a nested level.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}
