//! The actions and observations of clients, which the checks compare with the storage.

use std::collections::{BTreeMap, BTreeSet};

use aethon_core::ids::{SessionId, TurnId};
use jiff::Timestamp;

/// A message that a client sent.
#[derive(Debug, Clone)]
pub struct Said {
    pub session: SessionId,
    pub sender: usize,
    pub text: String,
    /// Whether the turn that answers it is to be delivered as well.
    pub is_delivered: bool,
    /// The message that it replaces, by its place in the history.
    pub replaces: Option<usize>,
    /// When it was first handed in, and acknowledged.
    pub began: u64,
    pub acknowledged: Option<u64>,
    pub turn: Option<TurnId>,
}

/// A session that was emptied.
#[derive(Debug, Clone)]
pub struct Cleared {
    pub session: SessionId,
    pub began: u64,
    /// When that was known; later than everything when it never was.
    pub ended: u64,
    /// Whether it is known to have happened; one whose program died may have.
    pub is_sure: bool,
}

/// A message posted to a session outside its turns.
#[derive(Debug, Clone)]
pub struct Posted {
    pub session: SessionId,
    pub text: String,
    pub began: u64,
    /// Whether it is known to have happened.
    pub is_sure: bool,
}

/// A message delivered through a channel.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub id: i64,
    pub turn: TurnId,
    pub recipient: Option<String>,
}

#[derive(Default)]
pub struct History {
    moment: u64,
    pub said: Vec<Said>,
    pub cleared: Vec<Cleared>,
    pub posted: Vec<Posted>,
    pub arrived: Vec<Arrived>,
    /// How often the end of a turn was shown, by surface.
    pub shown: BTreeMap<u64, usize>,
    pub deaths: usize,
    /// Runs of jobs that began, by the time that they were due; retries not counted.
    pub begun: BTreeSet<(String, Option<Timestamp>)>,
}

impl History {
    /// The next moment; nothing happens at the same time.
    pub fn now(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// Whether a session may have been emptied between a moment and now.
    pub fn may_be_cleared_since(&self, session: &SessionId, moment: u64) -> bool {
        self.cleared.iter().any(|cleared| cleared.session == *session && cleared.ended > moment)
    }
}
