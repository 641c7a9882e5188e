//! When the reply of a turn may be shown, and whether it still may be.
//!
//! For a moment after a message, the person may add something that belongs to it or correct it. Until then the turn runs
//! but nothing of its reply is shown, so that the turn can still be replaced without anyone seeing two answers. A
//! model rarely answers sooner anyway. Once something was shown, the turn stands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::TurnId;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How many turns are remembered. The oldest have long ended.
const MAX_COUNT: usize = 2000;

/// The terms on which a reply is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReplyTerms {
    /// The platform's id of the message to which it replies, where others would wonder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// Remarks at the head, such as which files were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

impl ReplyTerms {
    /// Returns whether a reply with them is like any other.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// The turns of a channel whose replies are on their way.
#[derive(Debug, Default)]
pub(super) struct Gates {
    all: Mutex<AllGates>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct AllGates {
    gates: BTreeMap<TurnId, Gate>,
    order: VecDeque<TurnId>,
}

#[derive(Debug)]
struct Gate {
    opens_at: Instant,
    state: GateState,
    terms: ReplyTerms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GateState {
    /// Nothing was shown.
    Unseen,
    /// Something was shown, so the turn stands.
    Shown,
    /// Another turn takes its place, so nothing may be shown.
    Withdrawn,
}

/// Whether a reply may be shown now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// It may, and counts as shown from now on.
    Open,
    /// Not before this time.
    NotBefore(Instant),
    /// Never.
    Closed,
}

impl AllGates {
    fn insert(&mut self, turn: &TurnId, gate: Gate) {
        if self.gates.contains_key(turn) {
            return;
        }
        while self.order.len() >= MAX_COUNT {
            if let Some(oldest) = self.order.pop_front() {
                self.gates.remove(&oldest);
            }
        }
        self.order.push_back(turn.clone());
        self.gates.insert(turn.clone(), gate);
    }
}

impl Gates {
    /// Records a turn whose reply may be shown from this time. Repeating it changes nothing.
    pub(super) fn note(&self, turn: &TurnId, opens_at: Instant, terms: &ReplyTerms) {
        let gate = Gate { opens_at, state: GateState::Unseen, terms: terms.clone() };
        self.lock().insert(turn, gate);
    }

    /// Returns whether a turn is known here.
    pub(super) fn knows(&self, turn: &TurnId) -> bool {
        self.lock().gates.contains_key(turn)
    }

    /// Returns the terms of a turn's reply, if they are known here.
    pub(super) fn terms(&self, turn: &TurnId) -> Option<ReplyTerms> {
        self.lock().gates.get(turn).map(|gate| gate.terms.clone())
    }

    /// Lets the reply of a turn be shown at once, because nothing can be added to its message any more.
    pub(super) fn release(&self, turn: &TurnId) {
        if let Some(gate) = self.lock().gates.get_mut(turn) {
            gate.opens_at = gate.opens_at.min(Instant::now());
        }
        self.changed.notify_waiters();
    }

    /// Withdraws a turn, so that nothing of it will be shown. `false` if something was, or if the turn is not known.
    pub(super) fn withdraw(&self, turn: &TurnId) -> bool {
        let mut all = self.lock();
        let Some(gate) = all.gates.get_mut(turn).filter(|gate| gate.state != GateState::Shown) else {
            return false;
        };
        gate.state = GateState::Withdrawn;
        drop(all);
        self.changed.notify_waiters();
        true
    }

    /// Lets a turn stand as it is, so that no other takes its place. One that was withdrawn stays withdrawn.
    pub(super) fn settle(&self, turn: &TurnId) {
        if let Some(gate) = self.lock().gates.get_mut(turn).filter(|gate| gate.state == GateState::Unseen) {
            gate.state = GateState::Shown;
        }
        self.changed.notify_waiters();
    }

    /// Records a turn that was withdrawn before the program ended.
    pub(super) fn note_withdrawn(&self, turn: &TurnId) {
        self.note(turn, Instant::now(), &ReplyTerms::default());
        self.withdraw(turn);
    }

    /// Returns whether a reply may be shown now. If it may, it counts as shown.
    pub(super) fn pass(&self, turn: &TurnId) -> Passage {
        let mut all = self.lock();
        let Some(gate) = all.gates.get_mut(turn) else { return Passage::Open };
        match gate.state {
            GateState::Withdrawn => Passage::Closed,
            GateState::Unseen if gate.opens_at > Instant::now() => Passage::NotBefore(gate.opens_at),
            GateState::Unseen | GateState::Shown => {
                gate.state = GateState::Shown;
                Passage::Open
            }
        }
    }

    /// Waits until a reply may be shown. Returns `false` if it never may.
    pub(super) async fn wait(&self, turn: &TurnId) -> bool {
        loop {
            let changed = self.changed.notified();
            match self.pass(turn) {
                Passage::Open => return true,
                Passage::Closed => return false,
                Passage::NotBefore(at) => {
                    tokio::select! {
                        () = changed => {}
                        () = sleep_until(at) => {}
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, AllGates> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where it is stored that another turn has taken the place of a turn, so that its reply is not delivered.
pub(super) fn withdrawal_of(turn: &TurnId) -> String {
    format!("withdrawn:{turn}")
}

/// Where the terms of a turn's reply are stored.
pub(super) fn terms_record_of(turn: &TurnId) -> String {
    format!("terms:{turn}")
}
