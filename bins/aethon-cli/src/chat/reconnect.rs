//! Decides when to reconnect, when to give up, and which messages the user sees.

use std::time::Duration;

use tokio::time::Instant;

/// The first and the longest pause.
const MIN_DURATION: Duration = Duration::from_millis(100);
const MAX_DURATION: Duration = Duration::from_secs(5);

/// How long a daemon may be unreachable before the user is notified.
const WORTH_A_WORD: Duration = Duration::from_secs(3);

/// The state of reconnecting to a daemon.
#[derive(Debug)]
pub(super) struct Reconnect {
    /// How long to keep trying; without a limit if `None`.
    patience: Option<Duration>,
    lost: Option<Instant>,
    due: Instant,
    tries: u32,
    was_said: bool,
}

impl Reconnect {
    pub(super) fn new(patience: Option<Duration>) -> Self {
        Self { patience, lost: None, due: Instant::now(), tries: 0, was_said: false }
    }

    /// Returns the time of the next attempt.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Records that the connection broke or could not be restored. Returns the message to show when it is time to give up.
    pub(super) fn failed(&mut self, now: Instant, why: &str) -> Option<String> {
        let lost = *self.lost.get_or_insert(now);
        let pause = MIN_DURATION.saturating_mul(1 << self.tries.min(8)).min(MAX_DURATION);
        // Spreads the attempts of terminals that lost the same daemon.
        let spread = pause.mul_f64(f64::from(std::process::id() % 50) / 100.0);
        self.due = now + pause + spread;
        self.tries += 1;
        let is_over = self.patience.is_some_and(|patience| now - lost >= patience);
        is_over.then(|| format!("aethon-server did not come back: {why}"))
    }

    /// Returns the message to show, once, when the daemon stays unreachable.
    pub(super) fn is_late(&mut self, now: Instant) -> Option<String> {
        let is_late = self.lost.is_some_and(|lost| now - lost >= WORTH_A_WORD);
        (is_late && !std::mem::replace(&mut self.was_said, true))
            .then(|| "aethon-server is away; trying to reach it again".to_owned())
    }

    /// Records that the connection was restored. Returns the message to show.
    pub(super) fn succeeded(&mut self) -> String {
        *self = Self::new(self.patience);
        "connected to aethon-server again".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_patience_ends() {
        let mut reconnect = Reconnect::new(Some(Duration::from_secs(60)));
        let mut pauses = Vec::new();
        let mut said = 0;
        let mut now = Instant::now();
        let last = loop {
            if let Some(words) = reconnect.failed(now, "refused") {
                break words;
            }
            pauses.push(reconnect.due() - now);
            now = reconnect.due();
            said += usize::from(reconnect.is_late(now).is_some());
        };
        assert!(pauses.is_sorted() && pauses[0] < Duration::from_millis(200), "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause < Duration::from_secs(8)), "{pauses:?}");
        assert!((10..30).contains(&pauses.len()), "{pauses:?}");
        assert_eq!((said, last.as_str()), (1, "aethon-server did not come back: refused"));
        reconnect.succeeded();
        assert!(reconnect.failed(now, "again").is_none() && reconnect.is_late(now).is_none());
    }
}
