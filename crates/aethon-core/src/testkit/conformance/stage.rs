//! An empty storage with a manual clock.

use std::any::Any;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock as _;
use crate::ids::TurnId;
use crate::session::Accepted;
use crate::storage::Storage;
use crate::testkit::ManualClock;
pub(super) use crate::testkit::phrases::*;

/// The storage under test, empty at first.
pub struct Stage {
    pub(super) storage: Storage,
    /// The same storage, as another program has it open.
    pub(super) beside: Storage,
    clock: Arc<ManualClock>,
    /// What must live as long as the storage, such as its folder.
    _keeps: Box<dyn Any + Send>,
}

impl Stage {
    /// Creates the clock that the storage has to use.
    pub fn clock() -> Arc<ManualClock> {
        Arc::new(ManualClock::at(start()))
    }

    /// A storage with this clock, opened twice as if by two programs, and what must live as long.
    pub fn new([storage, beside]: [Storage; 2], clock: Arc<ManualClock>, keeps: impl Any + Send) -> Self {
        Self { storage, beside, clock, _keeps: Box::new(keeps) }
    }

    pub(super) fn shared_clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// Runs a whole turn: accepted, begun, answered.
    pub(super) async fn turn(&self, session: &str, text: &str, reply: &str) -> TurnId {
        let turn = self.open_turn(session, text).await;
        self.storage.turns.finish(finish(&turn, session, reply)).await.unwrap();
        turn
    }

    /// Begins a turn.
    pub(super) async fn open_turn(&self, session: &str, text: &str) -> TurnId {
        let turn = TurnId::fresh();
        let accepted = self.storage.turns.accept(&turn, &say(session, text), Some(begin(text))).await;
        assert!(matches!(accepted.unwrap(), Accepted::New(Some(_))));
        turn
    }
}
