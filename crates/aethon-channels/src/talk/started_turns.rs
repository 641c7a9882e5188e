//! Who started which turn, and where, so that `/stop` finds running turns in any conversation.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{SessionId, TurnId};

/// How many turns are remembered. The oldest have long ended.
const MAX_COUNT: usize = 2000;

/// The recently started turns of a channel.
#[derive(Debug, Default)]
pub(super) struct StartedTurns(Mutex<VecDeque<StartedTurn>>);

/// A turn that someone started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartedTurn {
    pub(super) turn: TurnId,
    pub(super) session: SessionId,
    pub(super) chat: String,
    pub(super) sender: String,
}

impl StartedTurns {
    /// Records a turn.
    pub(super) fn note(&self, started: StartedTurn) {
        let mut all = self.lock();
        if all.iter().rev().any(|other| other.turn == started.turn) {
            return;
        }
        while all.len() >= MAX_COUNT {
            all.pop_front();
        }
        all.push_back(started);
    }

    /// Returns this person's turns in the matching chats.
    pub(super) fn of(&self, sender: &str, is_meant: impl Fn(&str) -> bool) -> Vec<StartedTurn> {
        let all = self.lock();
        all.iter().filter(|started| started.sender == sender && is_meant(&started.chat)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<StartedTurn>> {
        // Every statement leaves the list consistent, so a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
