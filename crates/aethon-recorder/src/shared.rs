//! The state shared by the parts of a recorder, from the observers to the writing thread.

use std::sync::{Arc, Mutex};

use aethon_core::clock::Clock;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::{Block, Inbound, Message, Reply};
use aethon_guard::redact::Redactor;
use tokio::sync::oneshot;

use crate::event::{EventData, SessionEvent, cut};
use crate::queue::{Entry, Queue, Snapshot};
use crate::tracker::Tracker;

/// Approximate size of an entry apart from its texts.
const ENTRY_BYTES: usize = 512;

/// Health of a recorder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Number of sessions being recorded.
    pub live: usize,
    /// The latest failure, until writing works again.
    pub trouble: Option<String>,
}

/// State shared by the parts of a recorder.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) tracker: Tracker,
    pub(crate) status: Mutex<Status>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) redactor: Live<Redactor>,
}

impl Shared {
    pub(crate) fn push(&self, entry: Entry, bytes: usize) -> bool {
        self.queue.push(entry, ENTRY_BYTES + bytes)
    }

    /// Records an event of a session, and of a turn if there is one.
    pub(crate) fn record_event(
        &self,
        session: &SessionId,
        turn: Option<&TurnId>,
        data: EventData,
        bytes: usize,
    ) {
        // The storage of temporary sessions is not watched; their events come from the hook.
        if session.is_temporary() {
            return;
        }
        let (session, turn, at) = (session.clone(), turn.cloned(), self.clock.now());
        self.push(Entry::Event(SessionEvent { session, turn, at, data }), bytes);
    }

    pub(crate) fn accepted(&self, turn: &TurnId, inbound: &Inbound) {
        self.tracker.accepted(turn, &inbound.session);
        if inbound.oneshot {
            self.push(Entry::OneShot { session: inbound.session.clone() }, 0);
        }
    }

    /// Records the start of a turn.
    pub(crate) fn started(&self, session: &SessionId, turn: &TurnId, data: EventData) {
        let bytes = if let EventData::TurnStarted { text, .. } = &data { text.len() } else { 0 };
        self.record_event(session, Some(turn), data, bytes);
    }

    /// Records that a turn replaced older messages by summaries.
    pub(crate) fn folded(&self, turn: &TurnId, folded: Vec<EventData>) {
        if folded.is_empty() {
            return;
        }
        let Some(session) = self.tracker.session_of(turn) else { return };
        folded.into_iter().for_each(|data| self.record_event(&session, Some(turn), data, 0));
    }

    /// Records a message posted to a session outside its turns.
    pub(crate) fn posted(&self, session: &SessionId, message: MessageId, text: String) {
        let (text, truncated) = cut(&self.redactor.get(), text);
        let bytes = text.len();
        let data = EventData::MessagePosted { message, text, truncated };
        self.push(Entry::OutsideTurn { session: session.clone(), at: self.clock.now(), data }, bytes);
    }

    /// Records the conversation at the end of a turn: the messages of the transcript that the last snapshot lacks.
    pub(crate) fn snapshot(&self, reply: &Reply, transcript: Vec<Message>) {
        let difference = self.tracker.advance(&reply.session, transcript);
        let bytes = difference.messages.iter().map(weight).sum();
        let (session, turn, at) = (reply.session.clone(), reply.turn.clone(), self.clock.now());
        let snapshot = Snapshot { session, turn, at, difference, model: reply.model.clone() };
        if !self.push(Entry::Snapshot(Box::new(snapshot)), bytes) {
            self.tracker.forget(&reply.session);
        }
    }

    /// Ends the recording of a session.
    pub(crate) fn end(&self, session: &SessionId, reason: &'static str, done: Option<oneshot::Sender<()>>) {
        self.tracker.forget(session);
        self.push(Entry::End { session: session.clone(), reason, done }, 0);
    }
}

/// Returns the approximate size of a message in bytes.
pub(crate) fn weight(message: &Message) -> usize {
    let blocks = message.content.iter().map(|block| match block {
        Block::Image { data, .. } => data.len(),
        Block::File { text, .. } | Block::Text { text, .. } => text.len(),
        Block::ToolResult(result) => result.output.len(),
        _ => ENTRY_BYTES,
    });
    ENTRY_BYTES + blocks.sum::<usize>()
}
