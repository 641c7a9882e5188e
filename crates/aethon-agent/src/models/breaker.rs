//! A circuit breaker: decides from the outcome of a model's recent requests whether it is called or left alone.

use std::time::Duration;

use aethon_core::model::{ModelError, ModelErrorKind};
use tokio::time::Instant;

/// How many failures in a row open the breaker, unless a single one is conclusive.
const THRESHOLD: u32 = 3;
/// The first and the longest rest: after failures that pass by themselves, and after those that a person must fix.
const PASSING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5 * 60));
const LASTING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(60 * 60));
/// The longest wait requested by a service that is honoured.
const MAX_ASKED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait while another request tries the model.
const TRIAL: Duration = Duration::from_secs(2);

/// The breaker of one model.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: BreakerState,
    /// Failures since the last complete answer.
    failures: u32,
    /// How often it has opened since then.
    opened: u32,
    last: Option<ModelError>,
}

#[derive(Debug, Default, Clone, Copy)]
enum BreakerState {
    /// The model gets requests.
    #[default]
    Closed,
    /// It gets no requests until then; after that, a single one may try.
    Open(Instant),
    /// A single request tries it.
    HalfOpen,
}

/// The kind of request that the breaker lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// A request like any other.
    Regular,
    /// The single request that tries a model whose rest is over.
    Trial,
}

impl Breaker {
    /// Lets a request through to the model, or returns how long it has to wait.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Admission, Duration> {
        match self.state {
            BreakerState::Closed => Ok(Admission::Regular),
            BreakerState::Open(until) if now < until => Err(until - now),
            BreakerState::Open(_) => {
                self.state = BreakerState::HalfOpen;
                Ok(Admission::Trial)
            }
            BreakerState::HalfOpen => Err(TRIAL),
        }
    }

    /// Returns how long the model is left alone from now on.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        match self.state {
            BreakerState::Open(until) => until.checked_duration_since(now).filter(|wait| !wait.is_zero()),
            BreakerState::Closed | BreakerState::HalfOpen => None,
        }
    }

    /// Lets one request try early, unless another one is trying.
    pub(super) fn force(&mut self) -> bool {
        let may = !matches!(self.state, BreakerState::HalfOpen);
        if may {
            self.state = BreakerState::HalfOpen;
        }
        may
    }

    /// Records that the model began to answer, so waiting requests may call it too. Only a complete answer resets the
    /// failures.
    pub(super) fn began(&mut self) {
        self.state = BreakerState::Closed;
    }

    /// Records a complete answer.
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Records that the trial was dropped without an outcome.
    pub(super) fn trial_abandoned(&mut self, now: Instant) {
        if let BreakerState::HalfOpen = self.state {
            self.state = BreakerState::Open(now);
        }
    }

    /// Records a failure. `random` is between 0 and 1.
    pub(super) fn failed(&mut self, error: &ModelError, now: Instant, random: f64) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some(error.clone());
        let asked = error.retry_after().map(|asked| asked.min(MAX_ASKED).mul_f64(1.0 + random / 20.0));
        if let BreakerState::Open(until) = self.state
            && until > now
        {
            // One of several requests that failed together; they count as one.
            self.state = BreakerState::Open(until.max(now + asked.unwrap_or_default()));
            return;
        }
        let wait = match (class(error.kind()), asked) {
            // A fault that a person must fix does not pass within the second that a service names.
            (Class::Lasting, asked) => self.back_off(LASTING, random).max(asked.unwrap_or_default()),
            (_, Some(asked)) => asked,
            (Class::AtOnce, None) => self.back_off(PASSING, random),
            (Class::Passing, None) if self.failures < THRESHOLD && self.opened == 0 => return,
            (Class::Passing, None) => self.back_off(PASSING, random),
        };
        self.opened = self.opened.saturating_add(1);
        self.state = BreakerState::Open(now + wait);
    }

    /// Returns the last failure.
    pub(super) fn last(&self) -> Option<&ModelError> {
        self.last.as_ref()
    }

    /// Doubles from the first rest to the longest, plus up to a quarter at random, so that several do not come back
    /// together.
    fn back_off(&self, (first, longest): (Duration, Duration), random: f64) -> Duration {
        first.saturating_mul(1 << self.opened.min(16)).min(longest).mul_f64(1.0 + random / 4.0)
    }
}

enum Class {
    /// A single failure says little.
    Passing,
    /// It will pass, but the service has asked to be left alone.
    AtOnce,
    /// Only a person can fix it.
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
    fn breaker_opens_after_failures_in_a_row_and_admits_one_trial() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        fail(&mut breaker, Overloaded, None, now);
        breaker.succeeded();
        for _ in 0..THRESHOLD {
            assert_eq!(breaker.admit(now), Ok(Admission::Regular));
            fail(&mut breaker, Overloaded, None, now);
        }
        assert_eq!(breaker.admit(now), Err(PASSING.0));
        let later = now + PASSING.0;
        assert_eq!(breaker.admit(later), Ok(Admission::Trial));
        assert_eq!(breaker.admit(later), Err(TRIAL), "one at a time");
        fail(&mut breaker, Overloaded, None, later);
        assert_eq!(breaker.admit(later), Err(PASSING.0 * 2), "twice as long");
        let later = later + PASSING.0 * 2;
        assert_eq!(breaker.admit(later), Ok(Admission::Trial));
        breaker.trial_abandoned(later);
        assert_eq!(
            breaker.admit(later),
            Ok(Admission::Trial),
            "a trial that was given up leaves the next one to another request"
        );
        breaker.succeeded();
        assert_eq!(
            (breaker.admit(later), breaker.admit(later)),
            (Ok(Admission::Regular), Ok(Admission::Regular))
        );
    }

    #[test]
    fn breaker_honours_the_requested_wait_at_once() {
        let now = Instant::now();
        let wait = |kind, after| {
            let mut breaker = Breaker::default();
            fail(&mut breaker, kind, after, now);
            breaker.admit(now)
        };
        assert_eq!(wait(RateLimit, Some(40)), Err(Duration::from_secs(40)));
        assert_eq!(wait(Overloaded, Some(40)), Err(Duration::from_secs(40)));
        assert_eq!(wait(RateLimit, None), Err(PASSING.0));
        assert_eq!(wait(Auth, None), Err(LASTING.0));
        assert_eq!(wait(ModelErrorKind::Quota, Some(1)), Err(LASTING.0));
        assert_eq!(wait(ModelErrorKind::Quota, Some(100)), Err(Duration::from_secs(100)));
        assert_eq!(wait(Overloaded, None), Ok(Admission::Regular));
        assert_eq!(wait(RateLimit, Some(u64::MAX)), Err(MAX_ASKED));
    }

    #[test]
    fn waits_are_spread_and_never_shorter_than_asked() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        let error = ModelError::new(RateLimit, "x").with_retry_after(Some(Duration::from_secs(40)));
        breaker.failed(&error, now, 1.0);
        assert_eq!(breaker.admit(now), Err(Duration::from_secs(42)));
        let mut later = now;
        for _ in 0..40 {
            later += Duration::from_secs(3600);
            assert_eq!(breaker.admit(later), Ok(Admission::Trial));
            breaker.failed(&ModelError::new(Overloaded, "x"), later, 1.0);
        }
        assert_eq!(breaker.admit(later), Err(PASSING.1.mul_f64(1.25)));
    }

    #[test]
    fn failures_of_requests_that_ran_together_count_as_one() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..20 {
            fail(&mut breaker, Overloaded, None, now);
        }
        assert_eq!(breaker.admit(now), Err(PASSING.0));
        fail(&mut breaker, RateLimit, Some(40), now);
        assert_eq!(breaker.admit(now), Err(Duration::from_secs(40)));
    }

    #[test]
    fn answers_that_always_break_off_open_the_breaker() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..THRESHOLD {
            assert_eq!(breaker.admit(now), Ok(Admission::Regular));
            breaker.began();
            fail(&mut breaker, ModelErrorKind::Network, None, now);
        }
        assert!(breaker.admit(now).is_err());
    }
}
