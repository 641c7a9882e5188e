//! Who has brought which turn about, and where: so that `/stop` finds what runs, in whatever conversation it runs.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{SessionId, TurnId};

/// How many are remembered; the oldest are over.
const MOST: usize = 2000;

/// The turns of a channel that were brought about lately.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<VecDeque<Begun>>);

/// A turn that somebody has brought about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) turn: TurnId,
    pub(super) session: SessionId,
    pub(super) chat: String,
    pub(super) sender: String,
}

impl Running {
    /// Remembers one.
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

    /// Those of this person, in the chats that are meant.
    pub(super) fn of(&self, sender: &str, is_meant: impl Fn(&str) -> bool) -> Vec<Begun> {
        let all = self.lock();
        all.iter().filter(|begun| begun.sender == sender && is_meant(&begun.chat)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Begun>> {
        // The list is whole after every statement, so a panic elsewhere does not make it unusable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
