//! Who started which turn, and where, so that `/stop` finds running turns in any conversation.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{SessionId, TurnId};

/// How many turns are remembered. The oldest have long ended.
const MOST: usize = 2000;

/// The recently started turns of a channel.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<VecDeque<Begun>>);

/// A turn that someone started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) turn: TurnId,
    pub(super) session: SessionId,
    pub(super) chat: String,
    pub(super) sender: String,
}

impl Running {
    /// Records a turn.
    pub(super) fn note(&self, begun: Begun) {
        let mut all = self.lock();
        if all.iter().rev().any(|other| other.turn == begun.turn) {
            return;
        }
        while all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(begun);
    }

    /// Returns this person's turns in the matching chats.
    pub(super) fn of(&self, sender: &str, is_meant: impl Fn(&str) -> bool) -> Vec<Begun> {
        let all = self.lock();
        all.iter().filter(|begun| begun.sender == sender && is_meant(&begun.chat)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Begun>> {
        // Every statement leaves the list consistent, so a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
