//! Who started which turn, and where, so that `/stop` finds running turns in any conversation.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{SessionId, TurnId};
use tokio::sync::Notify;

use super::platform::Sender;

/// How many turns are remembered. The oldest have long ended.
const MAX_COUNT: usize = 2000;

/// The recently started turns of a channel.
#[derive(Debug, Default)]
pub(super) struct StartedTurns {
    turns: Mutex<VecDeque<StartedTurn>>,
    noted: Notify,
}

/// A turn that someone started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartedTurn {
    pub(super) turn: TurnId,
    pub(super) session: SessionId,
    pub(super) chat: String,
    pub(super) who: Sender,
    /// Whether it was started before a restart, so that of the person only the id is known.
    pub(super) is_resumed: bool,
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
        drop(all);
        self.noted.notify_one();
    }

    /// Waits until a turn is recorded.
    pub(super) async fn noted(&self) {
        self.noted.notified().await;
    }

    /// Returns the matching turns.
    pub(super) fn those(&self, is_meant: impl Fn(&StartedTurn) -> bool) -> Vec<StartedTurn> {
        self.lock().iter().filter(|started| is_meant(started)).cloned().collect()
    }

    /// Returns this person's turns in the matching chats.
    pub(super) fn of(&self, sender: &str, is_meant: impl Fn(&str) -> bool) -> Vec<StartedTurn> {
        self.those(|started| started.who.id == sender && is_meant(&started.chat))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<StartedTurn>> {
        // Every statement leaves the list consistent, so a poisoned lock is usable.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
