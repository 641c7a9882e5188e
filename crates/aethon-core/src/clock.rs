//! The source of time.
//!
//! It is a trait, so that tests can set the time; durations are measured with `std::time::Instant` where they are
//! needed. Times have whole milliseconds everywhere, as the storage keeps them: a time that is compared with its own stored
//! form must not lie behind it.

use jiff::Timestamp;

use crate::time::to_millisecond;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time, which may jump, in whole milliseconds.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine for the time")]
    fn now(&self) -> Timestamp {
        to_millisecond(Timestamp::now())
    }
}
