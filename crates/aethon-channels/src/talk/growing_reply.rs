//! A reply that is being written: what there is to show of it, and where its message is stored.

use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::approval::{ApprovalRequest, Resolution};
use aethon_core::ids::TurnId;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::growth::Asked;

/// Stored while the first message of a turn is being sent.
pub(super) const BEING_SENT: &str = "";

/// One reply being written.
pub(super) struct Stream {
    pub(super) turn: TurnId,
    pub(super) chat: String,
    pub(super) asked: Asked,
    /// The message to which the reply replies.
    pub(super) question: Option<String>,
    pub(super) state: Mutex<StreamState>,
    pub(super) changed: Notify,
    pub(super) ended: watch::Sender<bool>,
}

/// What there is to show of it.
#[derive(Default)]
pub(super) struct StreamState {
    /// The text since the last tool call.
    pub(super) text: String,
    pub(super) is_after_tool: bool,
    /// Whether there is text that was not shown yet.
    pub(super) is_dirty: bool,
    pub(super) prompts: Vec<PromptUpdate>,
    /// Whether nothing more is to be shown.
    pub(super) is_closed: bool,
    /// Whether a person stopped the turn, so that its reply is not delivered.
    pub(super) is_stopped: bool,
    /// Whether its reader may not see any more of it.
    pub(super) is_silenced: bool,
}

/// A change of an approval prompt.
pub(super) enum PromptUpdate {
    Open(Box<ApprovalRequest>),
    Settled(String, Resolution, Option<Value>),
}

/// Where the message of a turn is stored.
pub(super) fn record_of(turn: &TurnId) -> String {
    format!("reply:{turn}")
}

/// Returns the key of that message.
pub(super) fn key_of(turn: &TurnId) -> String {
    format!("r{turn}")
}

impl Stream {
    pub(super) fn change(&self, change: impl FnOnce(&mut StreamState)) {
        change(&mut lock(&self.state));
        self.changed.notify_one();
    }

    /// Returns the prompts to show, whether there is something to show, and whether the stream is closed.
    pub(super) fn take(&self) -> (Vec<PromptUpdate>, bool, bool) {
        let mut state = lock(&self.state);
        (std::mem::take(&mut state.prompts), state.is_dirty, state.is_closed)
    }
}

/// Signals that a task has ended, however it ends.
pub(super) struct Ended<'s>(pub(super) &'s Stream);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.send_replace(true);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the contents consistent, so a poisoned lock is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
