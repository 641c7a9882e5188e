//! Whether a failed request is sent again, and after how long.
//!
//! Waits grow with the number of failures and use up the time that the turn has, so that a service which is down for
//! seconds does not end a turn that may take minutes. All of them are jittered, even those that a service asks for,
//! because clients that failed together must not come back together.

use std::time::Duration;

use aethon_core::model::ModelError;

use crate::random::fraction;

/// The first wait, the growth factor, and the longest wait.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const GROWTH: u32 = 3;
const MAX_WAIT: Duration = Duration::from_secs(60);

/// No wait takes more than one part in this many of the time left, because the answer needs time too.
const PART_OF_THE_REST: u32 = 3;

/// How many silent models are tolerated. Each request costs money, and an answer may still be on its way.
const MAX_TIMEOUTS: u32 = 2;

/// How many times a request with an empty answer is repeated. Each attempt costs its input.
const MAX_EMPTY: u32 = 2;

/// The next step after a failure that came before any output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask again after this long.
    Wait(Duration),
    /// Give up: the service may answer after this long, which exceeds the turn's time.
    TooLate(Duration),
    /// Give up.
    GiveUp,
}

/// How many times a request was sent, and how that went.
#[derive(Debug)]
pub(super) struct RetryState {
    max_retries: u32,
    asked: u32,
    failed: u32,
    timeouts: u32,
    empty: u32,
    /// Whether the conversation was compacted because the service found it too long.
    is_compacted: bool,
}

impl RetryState {
    /// Creates the attempts of a request that may be repeated `max_retries` times.
    pub(super) fn new(max_retries: u32) -> Self {
        Self { max_retries, asked: 0, failed: 0, timeouts: 0, empty: 0, is_compacted: false }
    }

    /// Returns how many times it was sent before.
    pub(super) fn asked(&self) -> u32 {
        self.asked
    }

    /// Returns whether the conversation was compacted for this request.
    pub(super) fn is_compacted(&self) -> bool {
        self.is_compacted
    }

    /// Counts an attempt that failed because the conversation was too long, and that it was compacted since.
    pub(super) fn count_compaction(&mut self) {
        self.asked += 1;
        self.is_compacted = true;
    }

    /// Returns how long to wait before the next attempt, if the answer was empty.
    pub(super) fn after_answer(&mut self, is_empty: bool, left: Duration) -> Option<Duration> {
        if !is_empty || self.empty >= MAX_EMPTY || self.failed >= self.max_retries {
            return None;
        }
        self.empty += 1;
        self.asked += 1;
        self.failed += 1;
        Some(back_off(self.failed - 1, left, fraction()))
    }

    /// Returns the next step after a failure, during which `timeouts` models never responded.
    pub(super) fn after_failure(&mut self, error: &ModelError, timeouts: u32, left: Duration) -> Next {
        self.asked += 1;
        self.timeouts += timeouts;
        if !error.is_retryable() {
            return Next::GiveUp;
        }
        if let Some(asked) = error.retry_after().filter(|asked| *asked >= left) {
            return Next::TooLate(asked);
        }
        if self.failed >= self.max_retries || self.timeouts >= MAX_TIMEOUTS {
            return Next::GiveUp;
        }
        let wait = match error.retry_after() {
            Some(asked) => spread(asked, left, fraction()),
            None => back_off(self.failed, left, fraction()),
        };
        self.failed += 1;
        Next::Wait(wait)
    }
}

/// Returns an exponential backoff between the first and the longest wait; a random part of up to half is subtracted.
fn back_off(failed: u32, left: Duration, random: f64) -> Duration {
    let longest = MAX_WAIT.min(left / PART_OF_THE_REST);
    let whole = FIRST_WAIT.saturating_mul(GROWTH.saturating_pow(failed)).min(longest);
    whole / 2 + (whole / 2).mul_f64(random)
}

/// Returns a wait of at least the time that the service requires, plus up to an eighth and a second more, within the
/// turn's time.
fn spread(asked: Duration, left: Duration, random: f64) -> Duration {
    let more = (asked / 8 + Duration::from_secs(1)).min(left.saturating_sub(asked) / 2);
    asked + more.mul_f64(random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::model::ModelErrorKind::{self, Auth, Network, Quota, RateLimit, Timeout};

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn waits_grow_and_stay_within_the_time_of_the_turn() {
        let check = |failed: u32, left: u64, random: f64, expected: u64| {
            let wait = back_off(failed, Duration::from_secs(left), random);
            assert_eq!(wait, Duration::from_millis(expected), "{failed} {left}");
        };
        check(0, 600, 0.0, 125);
        check(0, 600, 1.0, 250);
        check(3, 600, 1.0, 6_750);
        check(20, 600, 1.0, 60_000);
        check(20, 30, 1.0, 10_000);
        check(20, 0, 1.0, 0);
    }

    #[test]
    fn requested_wait_is_honoured_and_spread() {
        let check = |asked: u64, left: u64, random: f64, expected: u64| {
            let wait = spread(Duration::from_secs(asked), Duration::from_secs(left), random);
            assert_eq!(wait, Duration::from_millis(expected), "{asked} {left}");
        };
        check(8, 600, 0.0, 8_000);
        check(8, 600, 1.0, 10_000);
        check(8, 10, 1.0, 9_000);
    }

    #[test]
    fn retries_happen_if_they_may_help_and_fit_the_time() {
        let second = Duration::from_secs(1);
        let check = |kind: ModelErrorKind, after: Option<u64>, failed: u32, expected: Option<Next>| {
            let error = ModelError::new(kind, "x").with_retry_after(after.map(Duration::from_secs));
            let next = RetryState { failed, ..RetryState::new(4) }.after_failure(&error, 0, MINUTE);
            match expected {
                Some(expected) => assert_eq!(next, expected, "{kind:?}"),
                None => assert!(matches!(next, Next::Wait(_)), "{kind:?} {next:?}"),
            }
        };
        check(Network, None, 0, None);
        check(Network, None, 4, Some(Next::GiveUp));
        check(RateLimit, Some(7), 0, None);
        check(RateLimit, Some(90), 0, Some(Next::TooLate(second * 90)));
        check(RateLimit, Some(90), 4, Some(Next::TooLate(second * 90)));
        check(Auth, None, 0, Some(Next::GiveUp));
        check(Quota, Some(5), 0, Some(Next::GiveUp));
    }

    #[test]
    fn silence_is_retried_once_and_an_empty_answer_twice() {
        let mut tries = RetryState::new(9);
        let silent = ModelError::new(Timeout, "x");
        assert!(matches!(tries.after_failure(&silent, 1, MINUTE), Next::Wait(_)));
        let network = ModelError::new(Network, "x");
        assert!(matches!(tries.after_failure(&network, 0, MINUTE), Next::Wait(_)));
        assert_eq!(tries.after_failure(&silent, 1, MINUTE), Next::GiveUp);
        let both = RetryState::new(9).after_failure(&silent, 2, MINUTE);
        assert_eq!(both, Next::GiveUp, "the model and its stand-in were silent");

        let mut tries = RetryState::new(9);
        assert_eq!(tries.after_answer(false, MINUTE), None);
        assert!(tries.after_answer(true, MINUTE).is_some() && tries.after_answer(true, MINUTE).is_some());
        assert_eq!(tries.after_answer(true, MINUTE), None);
        assert_eq!(RetryState::new(0).after_answer(true, MINUTE), None);
    }
}
