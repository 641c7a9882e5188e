//! Passes the stop of a turn on to the specialists that it has asked: the call that waits for one is dropped, and this
//! guard with it.

use std::sync::Weak;

use aethon_core::ids::{SessionId, TurnId};

use crate::control::Cause;
use crate::engine::shared::Shared;

/// Stops the turns of a session when it is dropped early.
pub(super) struct StopWithCaller {
    shared: Weak<Shared>,
    session: SessionId,
    /// The turn, once it is known.
    turn: Option<TurnId>,
    is_armed: bool,
}

impl StopWithCaller {
    pub(super) fn new(shared: Weak<Shared>, session: SessionId) -> Self {
        Self { shared, session, turn: None, is_armed: true }
    }

    /// Restricts the stop to this turn.
    pub(super) fn only(&mut self, turn: TurnId) {
        self.turn = Some(turn);
    }

    pub(super) fn disarm(&mut self) {
        self.is_armed = false;
    }
}

impl Drop for StopWithCaller {
    fn drop(&mut self) {
        if !self.is_armed {
            return;
        }
        let Some(shared) = self.shared.upgrade() else { return };
        let (_, waiting) = shared.queues.stop(&self.session, self.turn.as_ref(), Cause::Person);
        if let Some(job) = waiting {
            let ending = shared.clone();
            shared.tasks.spawn(async move { ending.ends.end_unbegun(job).await });
        }
    }
}
