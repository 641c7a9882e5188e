//! Whether a model is asked once more before the next one in the list.

use std::time::Duration;

use aethon_core::model::{ModelError, ModelErrorKind};

use crate::random::fraction;

/// How many times, at most, a model is asked again while another one stands by.
const MAX_AGAIN: u32 = 2;

/// The longest wait that another model does not take over for.
const SHORT: Duration = Duration::from_secs(5);

/// The first pause and the growth factor, where the service names no wait.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const GROWTH: u32 = 3;

/// Returns how long to wait before the same model is asked again, after `done` repetitions of the `allowed` ones.
/// `None` if the next model does better: after a failure that does not pass by itself, after silence, and if the
/// service asks to be left alone for longer.
pub(crate) fn pause_before_retry(error: &ModelError, done: u32, allowed: u32) -> Option<Duration> {
    use ModelErrorKind::{Network, Overloaded, RateLimit};
    if done >= allowed.min(MAX_AGAIN) {
        return None;
    }
    match (error.kind(), error.retry_after()) {
        (Overloaded | Network | RateLimit, Some(asked)) => (asked <= SHORT).then_some(asked),
        (Overloaded | Network, None) => {
            Some(FIRST_PAUSE.saturating_mul(GROWTH.saturating_pow(done)).mul_f64(0.5 + fraction() / 2.0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_pass_by_themselves_are_retried_at_most_twice() {
        use ModelErrorKind::{Auth, Malformed, Network, Overloaded, RateLimit, Timeout};
        let check = |kind, after: Option<u64>, done, expected: bool| {
            let error = ModelError::new(kind, "x").with_retry_after(after.map(Duration::from_secs));
            assert_eq!(pause_before_retry(&error, done, 4).is_some(), expected, "{kind:?} {after:?} {done}");
        };
        for kind in [Overloaded, Network] {
            check(kind, None, 0, true);
            check(kind, None, 1, true);
            check(kind, None, 2, false);
        }
        check(RateLimit, Some(1), 1, true);
        check(RateLimit, Some(3_000), 0, false);
        check(Overloaded, Some(3_000), 0, false);
        for kind in [Auth, Timeout, Malformed] {
            check(kind, None, 0, false);
        }
        let error = ModelError::new(Overloaded, "x");
        assert_eq!(pause_before_retry(&error, 0, 0), None, "`model.max_retries` is the most");
    }
}
