//! What is to be recorded, on its way from the turns to the one thread that writes.
//!
//! Whoever puts something in never waits: when the writer is that far behind, it is dropped and counted. The writer lets a
//! little come together before it takes it, so that a turn wakes nobody.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Message;
use aethon_core::recording::Layer;
use aethon_core::tool::ToolSpec;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::oneshot;

/// What may wait, in entries and in bytes.
const MOST_ENTRIES: usize = 16_384;
const MOST_BYTES: usize = 64 << 20;

/// From here on the writer does not wait for more.
const MANY_BYTES: usize = 4 << 20;
const MANY_ENTRIES: usize = 4_096;

/// How long the writer lets things come together. A crash loses no more than this, which is well under the second that may
/// be lost.
const PAUSE: Duration = Duration::from_millis(100);

/// What is to be recorded.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Something happened.
    Event(Happening),
    /// What the model is offered in this session from now on.
    Offer { session: SessionId, system: Arc<str>, tools: Arc<[ToolSpec]> },
    /// A turn is over.
    Snapshot(Box<Snapshot>),
    /// The session is used once; it comes before anything else of it.
    Once { session: SessionId },
    /// Something was put into a session beside its turns. It begins no recording.
    Beside { session: SessionId, at: Timestamp, data: Value },
    /// The recording of a session ends; whoever waits for it is told.
    End { session: SessionId, reason: &'static str, done: Option<oneshot::Sender<()>> },
}

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Happening {
    pub(crate) session: SessionId,
    pub(crate) turn: Option<TurnId>,
    pub(crate) at: Timestamp,
    pub(crate) layer: Layer,
    pub(crate) kind: &'static str,
    pub(crate) data: Value,
}

/// The conversation after a turn, as what has changed since the snapshot before.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) at: Timestamp,
    /// How many messages the snapshot before has, as far as its maker knows.
    pub(crate) base: usize,
    /// How many of them still stand.
    pub(crate) keeps: usize,
    /// Those that came after them.
    pub(crate) messages: Vec<Message>,
    pub(crate) model: String,
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    ready: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    entries: VecDeque<Entry>,
    bytes: usize,
    dropped: u64,
    is_urgent: bool,
    is_closed: bool,
}

/// What the writer takes at once.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) entries: VecDeque<Entry>,
    /// How many were dropped before.
    pub(crate) dropped: u64,
    /// Whether nothing comes any more.
    pub(crate) is_last: bool,
}

impl Queue {
    /// Puts something in that takes about so many bytes. `false` when it was dropped, or nothing is taken any more.
    pub(crate) fn push(&self, entry: Entry, bytes: usize) -> bool {
        let mut state = self.state();
        if state.is_closed {
            return false;
        }
        // The end of a recording is never dropped: somebody waits for it, and it makes room.
        let is_end = matches!(entry, Entry::End { .. });
        if !is_end && (state.entries.len() >= MOST_ENTRIES || state.bytes >= MOST_BYTES) {
            state.dropped += 1;
            return false;
        }
        let was_little = !state.is_much();
        let is_first = state.entries.is_empty();
        state.entries.push_back(entry);
        state.bytes += bytes;
        state.is_urgent |= is_end;
        if is_first || is_end || (was_little && state.is_much()) {
            self.ready.notify_all();
        }
        true
    }

    /// Takes nothing more; the writer gets what is there, and then its last batch.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.ready.notify_all();
    }

    /// What has come together, after waiting so long at most for the first of it.
    pub(crate) fn next(&self, wait: Duration) -> Batch {
        let unpoisoned = |guard| PoisonError::into_inner(guard);
        let state = self.state();
        let is_idle = |state: &mut QueueState| state.entries.is_empty() && !state.is_closed;
        let (state, _) = self.ready.wait_timeout_while(state, wait, is_idle).unwrap_or_else(unpoisoned);
        let comes_together = |state: &mut QueueState| {
            !state.entries.is_empty() && !state.is_closed && !state.is_urgent && !state.is_much()
        };
        let (mut state, _) =
            self.ready.wait_timeout_while(state, PAUSE, comes_together).unwrap_or_else(unpoisoned);
        state.bytes = 0;
        state.is_urgent = false;
        Batch {
            entries: std::mem::take(&mut state.entries),
            dropped: std::mem::take(&mut state.dropped),
            is_last: state.is_closed,
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn is_much(&self) -> bool {
        self.bytes >= MANY_BYTES || self.entries.len() >= MANY_ENTRIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(reason: &'static str) -> Entry {
        Entry::End { session: SessionId::of("webchat", "a").unwrap(), reason, done: None }
    }

    fn event(kind: &'static str) -> Entry {
        let session = SessionId::of("webchat", "a").unwrap();
        let (turn, at, layer, data) = (None, Timestamp::default(), Layer::Sys, Value::Null);
        Entry::Event(Happening { session, turn, at, layer, kind, data })
    }

    #[test]
    fn what_is_too_much_is_dropped_and_counted_and_ends_never_are() {
        let queue = Queue::default();
        assert!(queue.push(event("large"), MOST_BYTES));
        assert!(!queue.push(event("more"), 1) && !queue.push(event("more"), 1));
        assert!(queue.push(end("reset"), 0));
        let batch = queue.next(Duration::ZERO);
        assert_eq!((batch.entries.len(), batch.dropped, batch.is_last), (2, 2, false));
        assert!(queue.push(event("small"), 1));
        queue.close();
        assert!(!queue.push(event("late"), 1));
        let batch = queue.next(Duration::from_secs(60));
        assert_eq!((batch.entries.len(), batch.dropped, batch.is_last), (1, 0, true));
    }
}
