//! The numbers of frames.
//!
//! They begin with the time, so that they keep growing when the program is started again. Where several instances serve the same
//! conversations, each frame is numbered by the time at which it is made, so that the frames of one keep their numbers in the
//! logs of the others. A client may come back to another instance than the one that it left: its place is certain only if
//! this log has given that very number, so the numbers are remembered there.

use std::collections::VecDeque;

use aethon_core::ids::TurnId;
use jiff::Timestamp;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::frames::written;

/// What stands before the number of a frame.
const NUMBER: &str = ",\"seq\":";

/// How many numbers a log remembers. Those of older frames are a gap.
const MAX: usize = 32_768;

/// Returns the number with which frames begin at this time.
pub(super) fn number_at(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or(0).saturating_mul(1000)
}

/// Returns a frame of a turn without its number and turn.
pub(super) fn without_number(frame: &str) -> &str {
    frame.rfind(NUMBER).map_or(frame, |end| &frame[..end])
}

/// Builds a frame of a turn of what [`without_number`] has left.
pub(super) fn numbered(body: &str, seq: u64, turn: &TurnId) -> Utf8Bytes {
    let mut text = format!("{body}{NUMBER}{seq},\"turn\":{}}}", written(turn));
    // Frames are kept.
    text.shrink_to_fit();
    text.into()
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

#[cfg(test)]
mod tests {
    use super::super::frames::{Body, of_turn};
    use super::*;

    #[test]
    fn frame_gets_another_number_whatever_it_says() {
        let turn = TurnId::existing("t");
        for text in ["a", ",\"seq\":5,", "\"}\\"] {
            let frame = of_turn(700, &turn, &Body::Delta { text });
            let body = without_number(&frame).to_owned();
            assert_eq!(numbered(&body, 700, &turn), frame);
            assert_eq!(numbered(&body, 9, &turn), of_turn(9, &turn, &Body::Delta { text }));
        }
    }
}
