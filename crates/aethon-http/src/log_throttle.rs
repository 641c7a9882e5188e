//! Limits a repeated log line to one a minute, so that flooding the listener does not flood the log as well.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two lines.
const APART: Duration = Duration::from_secs(60);

/// Lets one line a minute through and counts the others.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<ThrottleState>);

#[derive(Debug, Default)]
struct ThrottleState {
    last: Option<Instant>,
    silent: u64,
}

impl LogThrottle {
    /// Returns how often the event was suppressed since the last line if a new line is due, or `None` if it is too
    /// soon.
    pub(crate) fn line(&self) -> Option<u64> {
        // Both fields are updated together, so a poisoned lock is usable.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| last.elapsed() < APART) {
            state.silent += 1;
            return None;
        }
        state.last = Some(Instant::now());
        Some(std::mem::take(&mut state.silent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_one_line_a_minute() {
        let throttle = LogThrottle::default();
        assert_eq!(throttle.line(), Some(0));
        for _ in 0..10_000 {
            assert_eq!(throttle.line(), None);
        }
        tokio::time::advance(APART).await;
        assert_eq!(throttle.line(), Some(10_000));
        assert_eq!(throttle.line(), None);
    }
}
