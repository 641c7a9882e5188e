//! The queue of notes to send, and those who listen.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::peers::{Heard, MAX_WAITING, PeerId};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// How many notes a listener may lag behind.
const CAPACITY: usize = 4096;

/// About how many bytes of notes are sent together.
const TOGETHER: usize = 1 << 20;

/// The way to the other daemons.
pub(crate) struct Link {
    id: PeerId,
    waiting: Mutex<Waiting>,
    pub(super) wake: Notify,
    heard: Sender<Heard>,
}

#[derive(Default)]
struct Waiting {
    notes: VecDeque<Sealed>,
    bytes: usize,
    /// Whether notes were dropped before the first of these.
    has_lost: bool,
}

/// A note on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sealed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<PeerId>,
    pub(super) topic: String,
    pub(super) body: String,
}

/// Notes that are sent together.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Whether others before them were dropped.
    pub(super) has_lost: bool,
    pub(super) notes: Vec<Sealed>,
}

impl Link {
    pub(crate) fn new(id: PeerId) -> Self {
        Self { id, waiting: Mutex::default(), wake: Notify::new(), heard: channel(CAPACITY).0 }
    }

    pub(crate) fn id(&self) -> PeerId {
        self.id
    }

    pub(crate) fn listen(&self) -> Receiver<Heard> {
        self.heard.subscribe()
    }

    /// Queues a note; where too many wait, it is dropped, and the next batch says so.
    pub(crate) fn tell(&self, to: Option<PeerId>, topic: &str, body: String) {
        let mut waiting = self.lock();
        if waiting.bytes + body.len() > MAX_WAITING {
            waiting.has_lost = true;
        } else {
            waiting.bytes += body.len();
            waiting.notes.push_back(Sealed { to, topic: topic.to_owned(), body });
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// Takes the next notes to send; `None` if there are none.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut waiting = self.lock();
        let mut batch = Batch { has_lost: std::mem::take(&mut waiting.has_lost), notes: Vec::new() };
        let mut bytes = 0;
        while bytes < TOGETHER
            && let Some(note) = waiting.notes.pop_front()
        {
            bytes += note.body.len();
            batch.notes.push(note);
        }
        waiting.bytes -= bytes;
        (batch.has_lost || !batch.notes.is_empty()).then_some(batch)
    }

    /// Notes that a batch could not be sent.
    pub(super) fn lose(&self) {
        self.lock().has_lost = true;
    }

    /// Passes on what was heard.
    pub(super) fn pass_on(&self, heard: Heard) {
        // An error means that no part of the program listens.
        let _ = self.heard.send(heard);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_queue_drops_notes_and_its_next_batch_says_so() {
        let link = Link::new(PeerId(1));
        assert!(link.take().is_none());
        for number in 0..20 {
            link.tell(None, "frames", number.to_string() + &"x".repeat(1 << 20));
        }
        let (mut notes, mut lost) = (0, 0);
        while let Some(batch) = link.take() {
            assert_eq!(batch.notes.len(), 1, "about a mebibyte at a time");
            notes += batch.notes.len();
            lost += usize::from(batch.has_lost);
        }
        assert_eq!((notes, lost), (15, 1));
        link.tell(None, "frames", "x".into());
        assert_eq!(link.take().map(|batch| batch.has_lost), Some(false), "there is room again");
    }
}
