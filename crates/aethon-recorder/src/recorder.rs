//! The recorder as the program holds it: a hook, a storage that is watched, and the thread that writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::hook::Hook;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::{Block, Inbound, Message, Reply};
use aethon_core::recording::Layer;
use aethon_core::redact::Redactor;
use aethon_core::session::{Begin, Begun};
use aethon_core::storage::Storage;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::hook::{RecorderHook, cut};
use crate::queue::{Entry, Happening, Queue, Snapshot};
use crate::tracker::{Difference, Tracker};
use crate::watched::{WatchedOwners, WatchedTranscripts, WatchedTurns};
use crate::writer::Writer;

/// What an entry takes besides its texts, about.
const ENTRY_BYTES: usize = 512;

/// How recordings are made.
#[derive(Clone)]
pub struct Options {
    /// Where they are; the folder is there.
    pub folder: PathBuf,
    /// The version of the program.
    pub version: &'static str,
    /// The folder that relative paths of the assistant begin at.
    pub cwd: String,
    /// How long a session may rest before its recording ends.
    pub idle: Duration,
    /// How many recordings are kept, and for how long.
    pub keep: Keep,
    /// What takes secrets out.
    pub redactor: Live<Redactor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where it is told that a recording begins and ends.
    pub bus: EventBus,
}

/// Which recordings are kept. Files that were put there by somebody else are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// How many; 0 keeps all.
    pub most: usize,
    /// For how many days; 0 is for ever.
    pub days: u32,
}

/// Records sessions while it lives. Cheap to clone.
#[derive(Clone)]
pub struct Recorder(Arc<Handle>);

/// Ends the thread that writes when the last clone of the recorder goes.
struct Handle {
    shared: Arc<Shared>,
    writer: Mutex<Option<oneshot::Receiver<()>>>,
}

/// How a recorder is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// How many sessions are being recorded.
    pub live: usize,
    /// What went wrong last, while it goes on going wrong.
    pub trouble: Option<String>,
}

/// What the parts of a recorder share.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) tracker: Tracker,
    pub(crate) status: Mutex<Status>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Recorder {
    /// Starts the thread that writes.
    pub fn start(options: Options) -> Result<Self> {
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            tracker: Tracker::default(),
            status: Mutex::default(),
            clock: options.clock.clone(),
        });
        let (done, writer) = oneshot::channel();
        let mut loop_of_writer = Writer::new(options, shared.clone());
        let run = move || {
            loop_of_writer.run();
            // Nobody waits for a recorder that was dropped.
            let _ = done.send(());
        };
        thread::Builder::new()
            .name("recorder".into())
            .spawn(run)
            .map_err(|error| Error::io("the thread of the recorder cannot be started", error))?;
        Ok(Self(Arc::new(Handle { shared, writer: Mutex::new(Some(writer)) })))
    }

    /// The hook that sees what happens in a turn. It comes behind all that change what is seen.
    pub fn hook(&self) -> Arc<dyn Hook> {
        Arc::new(RecorderHook(self.0.shared.clone()))
    }

    /// The storage that the engine is to have, so that the recorder sees what is stored.
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

    /// How it is doing.
    pub fn status(&self) -> Status {
        self.0.shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all recordings, as far as there is time. What is left over is turned into its recording by the next start.
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

    /// Something happened in a session, in a turn where there is one.
    pub(crate) fn happened(
        &self,
        (session, turn): (&SessionId, Option<&TurnId>),
        (layer, kind): (Layer, &'static str),
        data: Value,
        bytes: usize,
    ) {
        let (session, turn, at) = (session.clone(), turn.cloned(), self.clock.now());
        self.push(Entry::Event(Happening { session, turn, at, layer, kind, data }), bytes);
    }

    pub(crate) fn accepted(&self, turn: &TurnId, inbound: &Inbound) {
        self.tracker.accepted(turn, &inbound.session);
        if inbound.oneshot {
            self.push(Entry::Once { session: inbound.session.clone() }, 0);
        }
    }

    /// A turn began. `is_first` says that it may be the first one of its session.
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
        let (text, is_cut) = cut(&message.text());
        let bytes = text.len();
        let is_outside =
            message.content.iter().any(|block| matches!(block, Block::Text { untrusted: Some(_), .. }));
        let data = json!({
            "text": text, "truncated": is_cut, "replaces": replaces, "untrusted": is_outside,
            "attachments": message.content.iter().filter(|block| !matches!(block, Block::Text { .. })).count(),
        });
        self.happened((session, Some(turn)), (Layer::Agent, "turn_started"), data, bytes);
        self.tracker.began(session, message, (begun.after, replaces.as_ref()), is_first);
    }

    /// A running turn got messages.
    pub(crate) fn grew(&self, turn: &TurnId, messages: Vec<Message>) {
        let folded = messages.iter().flat_map(|message| &message.content).filter_map(|block| match block {
            Block::Folded { messages, from, to, .. } => {
                Some(json!({ "messages": messages, "from": from, "to": to }))
            }
            _ => None,
        });
        let folded: Vec<Value> = folded.collect();
        if let Some(session) = self.tracker.session_of(turn) {
            for data in folded {
                self.happened((&session, Some(turn)), (Layer::Sys, "folded"), data, 0);
            }
        }
        self.tracker.grew(turn, messages);
    }

    /// Something was put into a session beside its turns.
    pub(crate) fn posted(&self, session: &SessionId, message: Message) {
        let (text, is_cut) = cut(&message.text());
        let bytes = text.len();
        let data = json!({ "message": message.id, "text": text, "truncated": is_cut });
        self.push(Entry::Beside { session: session.clone(), at: self.clock.now(), data }, bytes);
        self.tracker.posted(session, message);
    }

    /// A turn is over, and this is what it has changed.
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

    /// The recording of a session ends.
    pub(crate) fn end(&self, session: &SessionId, reason: &'static str, done: Option<oneshot::Sender<()>>) {
        self.tracker.forget(session);
        self.push(Entry::End { session: session.clone(), reason, done }, 0);
    }
}

/// About how many bytes a message has.
pub(crate) fn weight(message: &Message) -> usize {
    let blocks = message.content.iter().map(|block| match block {
        Block::Image { data, .. } => data.len(),
        Block::File { text, .. } | Block::Text { text, .. } => text.len(),
        Block::ToolResult(result) => result.output.len(),
        _ => ENTRY_BYTES,
    });
    ENTRY_BYTES + blocks.sum::<usize>()
}
