//! When to try to connect again, how long to go on trying, and what to say of it.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause, and the longest.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// A daemon that is away for longer than this is worth a word.
const WORTH_A_WORD: Duration = Duration::from_secs(3);

/// The way back to a daemon that went away.
#[derive(Debug)]
pub(super) struct Reconnect {
    /// For how long to try; for ever without.
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

    /// When to try next.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// The connection broke, or could not be made again. Returns what to say when it is time to give up.
    pub(super) fn failed(&mut self, now: Instant, why: &str) -> Option<String> {
        let lost = *self.lost.get_or_insert(now);
        let pause = SHORTEST.saturating_mul(1 << self.tries.min(8)).min(LONGEST);
        // Terminals that lost the same daemon do not all come back at once.
        let spread = pause.mul_f64(f64::from(std::process::id() % 50) / 100.0);
        self.due = now + pause + spread;
        self.tries += 1;
        let is_over = self.patience.is_some_and(|patience| now - lost >= patience);
        is_over.then(|| format!("aethon-server did not come back: {why}"))
    }

    /// What to say when the daemon stays away; once.
    pub(super) fn is_late(&mut self, now: Instant) -> Option<String> {
        let is_late = self.lost.is_some_and(|lost| now - lost >= WORTH_A_WORD);
        (is_late && !std::mem::replace(&mut self.was_said, true))
            .then(|| "aethon-server is away; trying to reach it again".to_owned())
    }

    /// The connection stands again. Returns what to say.
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
