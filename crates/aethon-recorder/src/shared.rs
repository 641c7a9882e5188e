//! State shared by the parts of a recorder: observers put what they see on the queue, and the writer takes it.

use std::sync::{Arc, Mutex};

use aethon_core::clock::Clock;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Inbound, Message, Reply};
use aethon_core::session::{Begin, Begun};
use tokio::sync::oneshot;

use crate::event::{EventData, SessionEvent};
use crate::options::Status;
use crate::queue::{Entry, Queue, Snapshot};
use crate::tracker::{Difference, Tracker};

/// Maximum characters of a text in an event; the snapshot after the turn has the whole text.
pub(crate) const MAX_TEXT: usize = 16_000;

/// Approximate size of an entry apart from its texts.
const ENTRY_BYTES: usize = 512;

/// State shared by the parts of a recorder.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) tracker: Tracker,
    pub(crate) status: Mutex<Status>,
    pub(crate) clock: Arc<dyn Clock>,
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
        let (session, turn, at) = (session.clone(), turn.cloned(), self.clock.now());
        self.push(Entry::Event(SessionEvent { session, turn, at, data }), bytes);
    }

    pub(crate) fn accepted(&self, turn: &TurnId, inbound: &Inbound) {
        self.tracker.accepted(turn, &inbound.session);
        if inbound.oneshot {
            self.push(Entry::OneShot { session: inbound.session.clone() }, 0);
        }
    }

    /// Records the start of a turn. `is_first` says that it may be the first one of its session.
    pub(crate) fn began(
        &self,
        (session, turn): (&SessionId, &TurnId),
        begin: Begin,
        begun: Begun,
        is_first: bool,
    ) {
        let Begin { mut message, replaces } = begin;
        message.id = begun.message;
        message.turn = Some(turn.clone());
        let (text, truncated) = cut(message.text());
        let bytes = text.len();
        let untrusted =
            message.content.iter().any(|block| matches!(block, Block::Text { untrusted: Some(_), .. }));
        let attachments = message.content.iter().filter(|block| !matches!(block, Block::Text { .. })).count();
        let replaced = replaces.clone();
        let data = EventData::TurnStarted { text, truncated, replaces, untrusted, attachments };
        self.record_event(session, Some(turn), data, bytes);
        self.tracker.began(session, message, (begun.after, replaced.as_ref()), is_first);
    }

    /// Records messages that were added to a running turn.
    pub(crate) fn grew(&self, turn: &TurnId, messages: Vec<Message>) {
        let folded = messages.iter().flat_map(|message| &message.content).filter_map(|block| match block {
            Block::Folded { messages, from, to, .. } => {
                let (from, to) = (from.clone(), to.clone());
                Some(EventData::Folded { messages: *messages, from, to })
            }
            _ => None,
        });
        let folded: Vec<EventData> = folded.collect();
        if !folded.is_empty()
            && let Some(session) = self.tracker.session_of(turn)
        {
            for data in folded {
                self.record_event(&session, Some(turn), data, 0);
            }
        }
        self.tracker.grew(turn, messages);
    }

    /// Records a message posted to a session outside its turns.
    pub(crate) fn posted(&self, session: &SessionId, message: Message) {
        let (text, truncated) = cut(message.text());
        let bytes = text.len();
        let data = EventData::MessagePosted { message: message.id, text, truncated };
        self.push(Entry::OutsideTurn { session: session.clone(), at: self.clock.now(), data }, bytes);
        self.tracker.posted(session, message);
    }

    /// Records the end of a turn and what the turn changed.
    pub(crate) fn snapshot(&self, reply: &Reply, difference: Difference) {
        let Difference { base, keeps, messages } = difference;
        let bytes = messages.iter().map(weight).sum();
        let (session, turn, at) = (reply.session.clone(), reply.turn.clone(), self.clock.now());
        let model = reply.model.clone();
        let snapshot = Snapshot { session, turn, at, base, keeps, messages, model };
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

/// Shortens a text that is too long for an event. Returns the text and whether it was cut.
pub(crate) fn cut(text: impl Into<String>) -> (String, bool) {
    let mut text = text.into();
    // A character has at least one byte, so a short text need not be walked through.
    let end = if text.len() <= MAX_TEXT { None } else { text.char_indices().nth(MAX_TEXT) };
    if let Some((end, _)) = end {
        text.truncate(end);
    }
    (text, end.is_some())
}
