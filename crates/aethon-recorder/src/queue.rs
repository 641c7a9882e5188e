//! The queue from the turns to the one thread that writes.
//!
//! Pushing never blocks: if the writer is too far behind, entries are dropped and counted. The writer lets entries
//! accumulate briefly before it takes them, so that a turn does not wake the thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::weight;
use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::event::{EventData, SessionEvent};
use crate::tracker::Difference;

/// Capacity in entries and in bytes.
const MAX_ENTRIES: usize = 16_384;
const MAX_BYTES: usize = 64 << 20;

/// From here on the writer does not wait for more.
const MANY_BYTES: usize = 4 << 20;
const MANY_ENTRIES: usize = 4_096;

/// The room for entries that is kept.
const KEPT_ENTRIES: usize = 2_048;

/// How long the writer lets entries accumulate. A crash loses no more than this, well under the second that may be
/// lost. With a shorter pause, waking the thread costs more than what it writes.
const PAUSE: Duration = Duration::from_millis(200);

/// Something to record.
#[derive(Debug)]
pub(crate) enum Entry {
    /// An event.
    Event(SessionEvent),
    /// The state after a turn.
    Snapshot(Box<Snapshot>),
    /// Marks a session as one-shot; precedes all its other entries.
    OneShot { session: SessionId },
    /// A message that was posted to a session outside its turns. It starts no recording.
    OutsideTurn { session: SessionId, at: Timestamp, data: EventData },
    /// Ends the recording of a session and signals `done`.
    End { session: SessionId, reason: &'static str, done: Option<oneshot::Sender<()>> },
}

/// The conversation after a turn, as a difference to the previous snapshot.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) at: Timestamp,
    pub(crate) difference: Difference,
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
    entries: Vec<Entry>,
    bytes: usize,
    dropped: u64,
    is_urgent: bool,
    is_closed: bool,
}

/// The entries that the writer takes at once. It is reused for its allocation.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    /// Number of entries dropped before these.
    pub(crate) dropped: u64,
    /// Whether no more batches follow.
    pub(crate) is_last: bool,
}

impl Queue {
    /// Queues an entry of about `bytes` bytes. Returns `false` if it was dropped, or if the queue is closed.
    pub(crate) fn push(&self, entry: Entry, bytes: usize) -> bool {
        let mut state = self.state();
        if state.is_closed {
            return false;
        }
        // Never drop the end of a recording: a caller waits for it, and it frees space.
        let is_end = matches!(entry, Entry::End { .. });
        if !is_end && (state.entries.len() >= MAX_ENTRIES || state.bytes >= MAX_BYTES) {
            state.dropped += 1;
            return false;
        }
        let was_little = !state.is_much();
        let is_first = state.entries.is_empty();
        state.entries.push(entry);
        state.bytes += bytes;
        state.is_urgent |= is_end;
        if is_first || is_end || (was_little && state.is_much()) {
            self.ready.notify_all();
        }
        true
    }

    /// Returns about how many bytes the queued entries take.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.state();
        state.bytes + weight::list::<Entry>(state.entries.capacity())
    }

    /// Refuses further entries; the writer gets the queued ones as its last batch.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.ready.notify_all();
    }

    /// Replaces the batch by the accumulated entries, after waiting at most `wait` for the first of them.
    pub(crate) fn next(&self, batch: &mut Batch, wait: Duration) {
        // Before the lock, for which turns would wait.
        batch.entries.clear();
        batch.entries.shrink_to(KEPT_ENTRIES);
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
        std::mem::swap(&mut batch.entries, &mut state.entries);
        batch.dropped = std::mem::take(&mut state.dropped);
        batch.is_last = state.is_closed;
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

    fn event() -> Entry {
        let session = SessionId::of("webchat", "a").unwrap();
        let (turn, at, data) = (None, Timestamp::default(), EventData::Gap { dropped: 1 });
        Entry::Event(SessionEvent { session, turn, at, data })
    }

    #[test]
    fn entries_beyond_the_limits_are_dropped_except_ends() {
        let queue = Queue::default();
        assert!(queue.push(event(), MAX_BYTES));
        assert!(!queue.push(event(), 1) && !queue.push(event(), 1));
        assert!(queue.push(end("reset"), 0));
        let mut batch = Batch::default();
        queue.next(&mut batch, Duration::ZERO);
        assert_eq!((batch.entries.len(), batch.dropped, batch.is_last), (2, 2, false));
        assert!(queue.push(event(), 1));
        queue.close();
        assert!(!queue.push(event(), 1));
        queue.next(&mut batch, Duration::from_secs(60));
        assert_eq!((batch.entries.len(), batch.dropped, batch.is_last), (1, 0, true));
    }
}
