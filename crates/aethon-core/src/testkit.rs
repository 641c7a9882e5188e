//! Fakes for tests: a clock that is set by hand, a surface that collects what it is shown.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::approval::{ApprovalRequest, Decision};
use crate::clock::Clock;
use crate::ids::TurnId;
use crate::surface::{Surface, TurnEvent};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Mutex::new(now))
    }

    /// Moves it.
    pub fn advance(&self, by: SignedDuration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A surface that keeps every event and answers every question in the same way.
#[derive(Debug, Default)]
pub struct CollectingSurface {
    events: Mutex<Vec<(TurnId, TurnEvent)>>,
    answer: Option<Decision>,
}

impl CollectingSurface {
    /// Answers every question with this; `None` means that nobody can answer.
    pub fn answering(answer: Option<Decision>) -> Self {
        Self { events: Mutex::default(), answer }
    }

    /// What was shown so far.
    pub fn events(&self) -> Vec<(TurnId, TurnEvent)> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Surface for CollectingSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push((turn.clone(), event));
    }

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        self.answer
    }
}
