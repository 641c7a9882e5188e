//! The source of time.
//!
//! It is a trait, so that tests can set the time; durations are measured with `std::time::Instant` where they are
//! needed.

use jiff::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time, which may jump.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the machine for the time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
