//! When the program could not run anything: before it started, and while the machine slept or its clock jumped ahead.
//! Runs that were due then count as missed. Runs that are late because many are due do not, not even after a restart.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// How far the clock may run ahead of, or fall behind, the time that passed between two readings before it counts as a jump.
const JUMP: SignedDuration = SignedDuration::from_secs(30);

/// Watches the clock for jumps.
pub(super) struct Watch {
    /// When the program began to watch.
    since: Timestamp,
    /// Up to then, an earlier process has seen all due runs.
    seen_before: Option<Timestamp>,
    /// The last absence after that: from when to when.
    away: Option<(Timestamp, Timestamp)>,
    last: (Timestamp, Instant),
}

/// Why nothing could be run at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// The program was not running.
    Stopped,
    /// The machine slept, or its clock was set ahead.
    Asleep,
}

impl Absence {
    /// Returns the reason as a clause.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Stopped => "the assistant was not running at this time",
            Self::Asleep => "the machine was asleep at this time, or its clock was set ahead",
        }
    }
}

impl Watch {
    /// Watches from now on. `seen_before` is the time that an earlier process noted; a time in the future is a wrong clock's.
    pub(super) fn new(now: Timestamp, seen_before: Option<Timestamp>) -> Self {
        let seen_before = seen_before.filter(|seen| *seen <= now);
        Self { since: now, seen_before, away: None, last: (now, Instant::now()) }
    }

    /// Reads the clock. Returns whether it was set back.
    pub(super) fn observe(&mut self, now: Timestamp) -> bool {
        let (before, at) = self.last;
        let passed = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
        let ahead = now.duration_since(before).saturating_sub(passed);
        if ahead > JUMP {
            // A run that was due just before the machine fell asleep may already have begun.
            let from = before.checked_add(passed).unwrap_or(before);
            tracing::info!(seconds = ahead.as_secs(), "the clock went on without the program");
            self.away = Some((from.min(now), now));
        }
        self.last = (now, Instant::now());
        ahead < -JUMP
    }

    /// Returns why the program could not run anything at this time, if so.
    pub(super) fn absence(&self, at: Timestamp) -> Option<Absence> {
        let was_seen = self.seen_before.is_some_and(|seen| at <= seen);
        match self.away {
            _ if at < self.since && !was_seen => Some(Absence::Stopped),
            Some((from, to)) if from < at && at < to => Some(Absence::Asleep),
            _ => None,
        }
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
    async fn runs_due_before_the_start_or_during_a_clock_jump_are_missed() {
        let mut watch = Watch::new(at(0), None);
        assert_eq!((watch.absence(at(-1)), watch.absence(at(0))), (Some(Absence::Stopped), None));
        tokio::time::advance(Duration::from_secs(100)).await;
        assert!(!watch.observe(at(100)));
        assert_eq!(watch.absence(at(50)), None, "time passed as it should");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(!watch.observe(at(3_700)));
        assert_eq!(watch.absence(at(1_000)), Some(Absence::Asleep));
        assert_eq!((watch.absence(at(102)), watch.absence(at(3_700))), (None, None));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(watch.observe(at(50)), "the clock was set back");
        assert_eq!(watch.absence(at(50)), None, "a clock that was set back is no absence");
    }

    #[tokio::test(start_paused = true)]
    async fn runs_seen_by_an_earlier_process_are_not_missed() {
        let watch = Watch::new(at(0), Some(at(-10)));
        assert_eq!((watch.absence(at(-10)), watch.absence(at(-9))), (None, Some(Absence::Stopped)));
        let wrong_clock = Watch::new(at(0), Some(at(10)));
        assert_eq!(wrong_clock.absence(at(-10)), Some(Absence::Stopped));
    }
}
