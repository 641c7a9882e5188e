//! One log line a minute for what a flood brings about again and again: whoever floods the listener does not fill the log as well.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How far apart two lines are.
const APART: Duration = Duration::from_secs(60);

/// Lets a line through once a minute, and counts the others.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<PaceState>);

#[derive(Debug, Default)]
struct PaceState {
    last: Option<Instant>,
    silent: u64,
}

impl Pace {
    /// Whether a line is due: how often the same happened since the last one, without this time. `None` when it is too soon.
    pub(crate) fn line(&self) -> Option<u64> {
        // Both fields are set together.
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
        let pace = Pace::default();
        assert_eq!(pace.line(), Some(0));
        for _ in 0..10_000 {
            assert_eq!(pace.line(), None);
        }
        tokio::time::advance(APART).await;
        assert_eq!(pace.line(), Some(10_000));
        assert_eq!(pace.line(), None);
    }
}
