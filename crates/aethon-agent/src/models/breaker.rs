//! Whether a model is asked or left alone, from how its last requests went.

use std::time::Duration;

use aethon_core::model::{ModelError, ModelErrorKind};
use tokio::time::Instant;

/// How many failures in a row it takes, where one does not say it all.
const THRESHOLD: u32 = 3;
/// How long a model is left alone first and at most: what passes by itself, and what a person must mend.
const PASSING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5 * 60));
const LASTING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(60 * 60));
/// The longest wait that a service is believed.
const LONGEST_ASKED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait while somebody else finds out.
const TRIAL: Duration = Duration::from_secs(2);

/// The memory of one model.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: BreakerState,
    /// Failures since an answer came to its end.
    failures: u32,
    /// How often it was opened since then.
    opened: u32,
    last: Option<ModelError>,
}

#[derive(Debug, Default, Clone, Copy)]
enum BreakerState {
    /// The model is asked.
    #[default]
    Closed,
    /// It is left alone until then; after that one request may try.
    Open(Instant),
    /// That request is under way.
    Trial,
}

/// As what a model may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// Like every other request.
    Free,
    /// As the one that finds out.
    Trial,
}

impl Breaker {
    /// Whether the model may be asked now, and as what, or how long not.
    pub(super) fn ask(&mut self, now: Instant) -> Result<Leave, Duration> {
        match self.state {
            BreakerState::Closed => Ok(Leave::Free),
            BreakerState::Open(until) if now < until => Err(until - now),
            BreakerState::Open(_) => {
                self.state = BreakerState::Trial;
                Ok(Leave::Trial)
            }
            BreakerState::Trial => Err(TRIAL),
        }
    }

    /// How long the model is left alone from now.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        match self.state {
            BreakerState::Open(until) => until.checked_duration_since(now).filter(|wait| !wait.is_zero()),
            BreakerState::Closed | BreakerState::Trial => None,
        }
    }

    /// Lets one request try before its time, unless another is trying.
    pub(super) fn force(&mut self) -> bool {
        let may = !matches!(self.state, BreakerState::Trial);
        if may {
            self.state = BreakerState::Trial;
        }
        may
    }

    /// The model began to answer: whoever waits may ask too. Only a whole answer takes the failures away.
    pub(super) fn began(&mut self) {
        self.state = BreakerState::Closed;
    }

    /// It answered to the end.
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The trial was given up.
    pub(super) fn trial_was_given_up(&mut self, now: Instant) {
        if let BreakerState::Trial = self.state {
            self.state = BreakerState::Open(now);
        }
    }

    /// It failed. `random` is between 0 and 1.
    pub(super) fn failed(&mut self, error: &ModelError, now: Instant, random: f64) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some(error.clone());
        let asked = error.retry_after().map(|asked| asked.min(LONGEST_ASKED).mul_f64(1.0 + random / 20.0));
        if let BreakerState::Open(until) = self.state
            && until > now
        {
            // One of several that were under way together; they count as one.
            self.state = BreakerState::Open(until.max(now + asked.unwrap_or_default()));
            return;
        }
        let wait = match (class(error.kind()), asked) {
            // What a person must mend does not pass within the second that a service names.
            (Class::Lasting, asked) => self.back_off(LASTING, random).max(asked.unwrap_or_default()),
            (_, Some(asked)) => asked,
            (Class::AtOnce, None) => self.back_off(PASSING, random),
            (Class::Passing, None) if self.failures < THRESHOLD && self.opened == 0 => return,
            (Class::Passing, None) => self.back_off(PASSING, random),
        };
        self.opened = self.opened.saturating_add(1);
        self.state = BreakerState::Open(now + wait);
    }

    /// How it failed last.
    pub(super) fn last(&self) -> Option<&ModelError> {
        self.last.as_ref()
    }

    /// Doubles from the first wait to the longest, with up to a quarter more, so that several do not come back together.
    fn back_off(&self, (first, longest): (Duration, Duration), random: f64) -> Duration {
        first.saturating_mul(1 << self.opened.min(16)).min(longest).mul_f64(1.0 + random / 4.0)
    }
}

enum Class {
    /// One failure says little.
    Passing,
    /// It passes, but the service has said that it wants to be left alone.
    AtOnce,
    /// Only a person can mend it.
    Lasting,
}

fn class(kind: ModelErrorKind) -> Class {
    use ModelErrorKind::{Auth, NotFound, Quota, RateLimit};
    match kind {
        Auth | Quota | NotFound => Class::Lasting,
        RateLimit => Class::AtOnce,
        _ => Class::Passing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind::{Auth, Overloaded, RateLimit};

    fn fail(breaker: &mut Breaker, kind: ModelErrorKind, after: Option<u64>, now: Instant) {
        let error = ModelError::new(kind, "x").with_retry_after(after.map(Duration::from_secs));
        breaker.failed(&error, now, 0.0);
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_try_later() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        fail(&mut breaker, Overloaded, None, now);
        breaker.succeeded();
        for _ in 0..THRESHOLD {
            assert_eq!(breaker.ask(now), Ok(Leave::Free));
            fail(&mut breaker, Overloaded, None, now);
        }
        assert_eq!(breaker.ask(now), Err(PASSING.0));
        let later = now + PASSING.0;
        assert_eq!(breaker.ask(later), Ok(Leave::Trial));
        assert_eq!(breaker.ask(later), Err(TRIAL), "one at a time");
        fail(&mut breaker, Overloaded, None, later);
        assert_eq!(breaker.ask(later), Err(PASSING.0 * 2), "twice as long");
        let later = later + PASSING.0 * 2;
        assert_eq!(breaker.ask(later), Ok(Leave::Trial));
        breaker.trial_was_given_up(later);
        assert_eq!(breaker.ask(later), Ok(Leave::Trial), "who gave up leaves the place to the next");
        breaker.succeeded();
        assert_eq!((breaker.ask(later), breaker.ask(later)), (Ok(Leave::Free), Ok(Leave::Free)));
    }

    #[test]
    fn what_a_service_asks_for_is_honoured_at_once() {
        let now = Instant::now();
        let wait = |kind, after| {
            let mut breaker = Breaker::default();
            fail(&mut breaker, kind, after, now);
            breaker.ask(now)
        };
        assert_eq!(wait(RateLimit, Some(40)), Err(Duration::from_secs(40)));
        assert_eq!(wait(Overloaded, Some(40)), Err(Duration::from_secs(40)));
        assert_eq!(wait(RateLimit, None), Err(PASSING.0));
        assert_eq!(wait(Auth, None), Err(LASTING.0));
        assert_eq!(wait(ModelErrorKind::Quota, Some(1)), Err(LASTING.0));
        assert_eq!(wait(ModelErrorKind::Quota, Some(100)), Err(Duration::from_secs(100)));
        assert_eq!(wait(Overloaded, None), Ok(Leave::Free));
        assert_eq!(wait(RateLimit, Some(u64::MAX)), Err(LONGEST_ASKED));
    }

    #[test]
    fn waits_are_spread_and_never_shorter_than_asked() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        let error = ModelError::new(RateLimit, "x").with_retry_after(Some(Duration::from_secs(40)));
        breaker.failed(&error, now, 1.0);
        assert_eq!(breaker.ask(now), Err(Duration::from_secs(42)));
        let mut later = now;
        for _ in 0..40 {
            later += Duration::from_secs(3600);
            assert_eq!(breaker.ask(later), Ok(Leave::Trial));
            breaker.failed(&ModelError::new(Overloaded, "x"), later, 1.0);
        }
        assert_eq!(breaker.ask(later), Err(PASSING.1.mul_f64(1.25)));
    }

    #[test]
    fn failures_of_requests_that_ran_together_count_as_one() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..20 {
            fail(&mut breaker, Overloaded, None, now);
        }
        assert_eq!(breaker.ask(now), Err(PASSING.0));
        fail(&mut breaker, RateLimit, Some(40), now);
        assert_eq!(breaker.ask(now), Err(Duration::from_secs(40)));
    }

    #[test]
    fn answers_that_always_break_off_open_it_too() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..THRESHOLD {
            assert_eq!(breaker.ask(now), Ok(Leave::Free));
            breaker.began();
            fail(&mut breaker, ModelErrorKind::Network, None, now);
        }
        assert!(breaker.ask(now).is_err());
    }
}
