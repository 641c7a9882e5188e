//! The recorder as the program holds it: a hook, a wrapped storage, and the writing thread.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::hook::Hook;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::{Block, Inbound, Message, Reply};
use aethon_core::redact::Redactor;
use aethon_core::session::Begin;
use aethon_core::storage::Storage;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::event::{EventData, SessionEvent};
use crate::hook::{RecorderHook, cut};
use crate::queue::{Entry, Queue, Snapshot};
use crate::seal::Seal;
use crate::tracker::Tracker;
use crate::watched::{WatchedOwners, WatchedTranscripts, WatchedTurns};
use crate::writer::Writer;

/// Approximate size of an entry apart from its texts.
const ENTRY_BYTES: usize = 512;

/// Settings of the recorder.
#[derive(Clone)]
pub struct Options {
    /// The folder for recordings, which must exist.
    pub folder: PathBuf,
    /// The version of the program.
    pub version: &'static str,
    /// The working directory of the assistant, to which its relative paths refer.
    pub cwd: String,
    /// How long a session may be idle before its recording ends.
    pub idle: Duration,
    /// How many recordings to keep, and for how long.
    pub keep: Keep,
    /// Masks secrets.
    pub redactor: Live<Redactor>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Where the start and end of recordings are announced.
    pub bus: EventBus,
    /// Marks recordings as made by this home, if it has a key.
    pub seal: Option<Seal>,
}

/// Which recordings to keep. Files of other origin are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Maximum number; 0 means no limit.
    pub most: usize,
    /// Maximum age in days; 0 means no limit.
    pub days: u32,
}

/// Records sessions while it is alive. Cheap to clone.
#[derive(Clone)]
pub struct Recorder(Arc<Handle>);

/// Ends the writing thread when the last clone of the recorder is dropped.
struct Handle {
    shared: Arc<Shared>,
    writer: Mutex<Option<oneshot::Receiver<()>>>,
}

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
}

impl Recorder {
    /// Starts the writing thread.
    pub fn start(options: Options) -> Result<Self> {
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            tracker: Tracker::default(),
            status: Mutex::default(),
            clock: options.clock.clone(),
        });
        let measured = Arc::downgrade(&shared);
        let measure = move || measured.upgrade().map(|shared| shared.queue.bytes() + shared.tracker.bytes());
        options.bus.telemetry().caches().add("recorder", measure);
        let (done, writer) = oneshot::channel();
        let mut loop_of_writer = Writer::new(options, shared.clone());
        let run = move || {
            loop_of_writer.run();
            // Nobody waits if the recorder was dropped.
            let _ = done.send(());
        };
        thread::Builder::new()
            .name("recorder".into())
            .spawn(run)
            .map_err(|error| Error::io("the thread of the recorder cannot be started", error))?;
        Ok(Self(Arc::new(Handle { shared, writer: Mutex::new(Some(writer)) })))
    }

    /// Returns the hook that observes turns. It must come after all hooks that change what is observed.
    pub fn hook(&self) -> Arc<dyn Hook> {
        Arc::new(RecorderHook(self.0.shared.clone()))
    }

    /// Wraps the storage for the engine, so that the recorder sees what is stored.
    #[must_use]
    pub fn watch(&self, storage: Storage) -> Storage {
        let (turns, transcripts, shared) =
            (storage.turns.clone(), storage.transcripts.clone(), &self.0.shared);
        let mut watched = storage;
        watched.turns =
            Arc::new(WatchedTurns { turns, transcripts: transcripts.clone(), shared: shared.clone() });
        watched.transcripts = Arc::new(WatchedTranscripts { transcripts, shared: shared.clone() });
        watched.owners = Arc::new(WatchedOwners { owners: watched.owners.clone(), shared: shared.clone() });
        watched
    }

    /// Returns the health of the recorder.
    pub fn status(&self) -> Status {
        self.0.shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all recordings if `within` suffices. The next start packs what is left.
    pub async fn close(&self, within: Duration) {
        self.0.shared.queue.close();
        let writer = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer
            && timeout(within, writer).await.is_err()
        {
            tracing::warn!("recordings were not finished in time; the next start finishes them");
        }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
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
        let (text, truncated) = cut(text);
        let bytes = text.len();
        let data = EventData::MessagePosted { message, text, truncated };
        self.push(Entry::OutsideTurn { session: session.clone(), at: self.clock.now(), data }, bytes);
    }

    /// Records the conversation at the end of a turn: of the transcript, what the last snapshot lacks.
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

/// Describes the start of a turn.
pub(crate) fn turn_started(begin: &Begin) -> EventData {
    let Begin { message, replaces } = begin;
    let (text, truncated) = cut(message.text());
    let untrusted =
        message.content.iter().any(|block| matches!(block, Block::Text { untrusted: Some(_), .. }));
    let attachments = message.content.iter().filter(|block| !matches!(block, Block::Text { .. })).count();
    EventData::TurnStarted { text, truncated, replaces: replaces.clone(), untrusted, attachments }
}

/// Describes the summaries among these messages.
pub(crate) fn folded(messages: &[Message]) -> Vec<EventData> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let folded = blocks.filter_map(|block| match block {
        Block::Folded { messages, from, to, .. } => {
            Some(EventData::Folded { messages: *messages, from: from.clone(), to: to.clone() })
        }
        _ => None,
    });
    folded.collect()
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
