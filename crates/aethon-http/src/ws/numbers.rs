//! The numbers of frames.
//!
//! They begin with the time, so that they keep growing when the program is started again. Where several instances serve the same
//! conversations, each frame is numbered by the time at which it is made, so that the frames of one keep their numbers in the
//! logs of the others. A client may come back to another instance than the one that it left: its place is certain only if
//! this log has given that very number, so the numbers are remembered there.

use std::collections::VecDeque;

use jiff::Timestamp;

/// How many numbers a log remembers. Those of older frames are a gap.
const MAX: usize = 32_768;

/// Returns the number with which frames begin at this time.
pub(super) fn number_at(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or(0).saturating_mul(1000)
}

/// The numbers that a log has given, in order.
#[derive(Default)]
pub(super) struct Numbers(VecDeque<u64>);

impl Numbers {
    /// Notes a number, which is larger than all others.
    pub(super) fn note(&mut self, number: u64) {
        if self.0.len() >= MAX {
            self.0.pop_front();
        }
        self.0.push_back(number);
    }

    /// Forgets those below.
    pub(super) fn forget_below(&mut self, floor: u64) {
        let gone = self.0.partition_point(|number| *number < floor);
        self.0.drain(..gone);
    }

    /// Returns whether this number was given.
    pub(super) fn has(&self, number: u64) -> bool {
        self.0.binary_search(&number).is_ok()
    }

    /// Returns the memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }
}
