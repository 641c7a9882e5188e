//! When the program could not run anything: before it started, and while the machine slept or its clock jumped ahead.
//! What was due then counts as missed; what is merely late because much is due does not.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// How far the clock may run ahead between two readings before it counts as an absence.
const JUMP: SignedDuration = SignedDuration::from_secs(30);

/// Watches the clock for jumps.
pub(super) struct Watch {
    /// When the program began to watch.
    since: Timestamp,
    /// The last absence after that: from when to when.
    away: Option<(Timestamp, Timestamp)>,
    last: (Timestamp, Instant),
}

impl Watch {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { since: now, away: None, last: (now, Instant::now()) }
    }

    /// Reads the clock.
    pub(super) fn observe(&mut self, now: Timestamp) {
        let (before, at) = self.last;
        let passed = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
        let by_clock = now.duration_since(before);
        if by_clock.saturating_sub(passed) > JUMP {
            // What was due just before the machine fell asleep may already have been begun.
            let from = before.checked_add(passed).unwrap_or(before);
            tracing::info!(seconds = by_clock.as_secs(), "the clock went on without the program");
            self.away = Some((from.min(now), now));
        }
        self.last = (now, Instant::now());
    }

    /// Whether the program was away at this time.
    pub(super) fn was_away(&self, at: Timestamp) -> bool {
        at < self.since || self.away.is_some_and(|(from, to)| from < at && at < to)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_due_before_the_start_or_in_a_jump_is_missed() {
        let mut watch = Watch::new(at(0));
        assert!(watch.was_away(at(-1)) && !watch.was_away(at(0)));
        tokio::time::advance(Duration::from_secs(100)).await;
        watch.observe(at(100));
        assert!(!watch.was_away(at(50)), "time passed as it should");
        tokio::time::advance(Duration::from_secs(5)).await;
        watch.observe(at(3_700));
        assert!(watch.was_away(at(1_000)) && !watch.was_away(at(102)) && !watch.was_away(at(3_700)));
        tokio::time::advance(Duration::from_secs(5)).await;
        watch.observe(at(50));
        assert!(!watch.was_away(at(50)), "a clock that was set back is no absence");
    }
}
