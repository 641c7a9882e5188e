//! How long to wait before a failed request is sent again.

use std::time::Duration;

use aethon_core::ids::unique;
use aethon_core::model::ModelError;

const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What to do after a failure that came before any output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask again after this long.
    Wait(Duration),
    /// Give up; the service may answer after this long, which the turn has not left.
    TooLate(Duration),
    /// Give up.
    GiveUp,
}

/// Decides after the `failed`th failure (from 0) in a row.
pub(super) fn next(error: &ModelError, failed: u32, max_retries: u32, left: Duration) -> Next {
    if !error.is_retryable() {
        return Next::GiveUp;
    }
    if let Some(asked) = error.retry_after().filter(|asked| *asked >= left) {
        return Next::TooLate(asked);
    }
    if failed >= max_retries {
        return Next::GiveUp;
    }
    let wait = error.retry_after().unwrap_or_else(|| back_off(failed, random()));
    if wait < left { Next::Wait(wait) } else { Next::GiveUp }
}

/// Doubles from the first wait to the longest; up to half of it is left out at random, so that many who failed together
/// do not come back together.
fn back_off(failed: u32, random: u32) -> Duration {
    let whole = FIRST_WAIT.saturating_mul(1 << failed.min(16)).min(LONGEST_WAIT);
    let half = whole / 2;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

fn random() -> u32 {
    // The last digits of a version 7 UUID are random.
    u32::from_str_radix(&unique()[24..], 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::model::ModelErrorKind::{self, Auth, Network, Quota, RateLimit};

    #[test]
    fn waits_grow_and_are_bounded() {
        let check = |failed: u32, random: u32, expected: u64| {
            assert_eq!(back_off(failed, random), Duration::from_millis(expected), "{failed}");
        };
        check(0, 0, 125);
        check(0, u32::MAX, 250);
        check(3, u32::MAX, 2000);
        check(20, u32::MAX, 30_000);
    }

    #[test]
    fn only_what_may_help_and_fits_is_tried() {
        let second = Duration::from_secs(1);
        let check = |kind: ModelErrorKind, after: Option<u64>, failed: u32, expected: Option<Next>| {
            let error = ModelError::new(kind, "x").with_retry_after(after.map(Duration::from_secs));
            let next = next(&error, failed, 4, second * 60);
            match expected {
                Some(expected) => assert_eq!(next, expected, "{kind:?}"),
                None => assert!(matches!(next, Next::Wait(_)), "{kind:?} {next:?}"),
            }
        };
        check(Network, None, 0, None);
        check(Network, None, 4, Some(Next::GiveUp));
        check(RateLimit, Some(7), 0, Some(Next::Wait(second * 7)));
        check(RateLimit, Some(90), 0, Some(Next::TooLate(second * 90)));
        check(Auth, None, 0, Some(Next::GiveUp));
        check(Quota, Some(5), 0, Some(Next::GiveUp));
    }
}
