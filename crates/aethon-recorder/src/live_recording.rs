//! A running recording: its journal, and the state needed to write the next record.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::time::text;
use aethon_core::tool::ToolSpec;
use aethon_guard::redact::Redactor;
use jiff::Timestamp;
use serde::Serialize;

use crate::event::{EventData, ModelContext};
use crate::journal::{Journal, Kind};
use crate::mask::Masked;
use crate::names;
use crate::queue::Snapshot;
use crate::record::{FORMAT, Head, NewEvent, NewMessage, NewSnapshot};
use crate::tracker::Difference;

/// After this long a session counts as idle even if a turn seems to be running.
const MAX_TURN: Duration = Duration::from_secs(24 * 3600);

/// A running recording.
pub(crate) struct LiveRecording {
    journal: Journal,
    seq: u64,
    snapshots: u64,
    /// Number of messages in the last snapshot.
    messages: usize,
    last: Timestamp,
    /// The running turn.
    turn: Option<String>,
    /// The current input of the model besides the conversation.
    context: Option<ModelContext>,
    /// The context in the last snapshot.
    snapshot_context: Option<ModelContext>,
}

impl LiveRecording {
    /// Starts the journal.
    pub(crate) fn begin(
        folder: &Path,
        session: &SessionId,
        at: Timestamp,
        version: &str,
    ) -> io::Result<Self> {
        let mut journal = Journal::create(folder, &names::stem(session, at))?;
        let (session_id, version) = (session.as_str().to_owned(), version.to_owned());
        let head = Head { format_version: FORMAT, session_id, started_at: text(at), version };
        journal.append(Kind::Head, &head)?;
        journal.flush()?;
        Ok(Self {
            journal,
            seq: 0,
            snapshots: 0,
            messages: 0,
            last: at,
            turn: None,
            context: None,
            snapshot_context: None,
        })
    }

    /// Adds an event with its secrets masked.
    pub(crate) fn event(&mut self, redactor: &Redactor, at: Timestamp, trace_id: &str, data: &EventData) {
        match data {
            EventData::TurnStarted { .. } => self.turn = Some(trace_id.to_owned()),
            // The next turn may have begun before the hooks saw the end of this one.
            EventData::TurnEnded { .. } => self.turn = self.turn.take().filter(|turn| turn != trace_id),
            EventData::ModelRequest { context: Some(context), .. } => self.context = Some(context.clone()),
            _ => {}
        }
        self.last = self.last.max(at);
        self.seq += 1;
        let (layer, name, ts) = (data.layer(), data.name(), self.last);
        let data = Masked::new(redactor, data);
        self.write(Kind::Event, &NewEvent { seq: self.seq, ts, layer, r#type: name, data, trace_id });
    }

    /// Adds a snapshot. Returns `false` if it does not continue the previous one, or could not be written.
    pub(crate) fn snapshot(&mut self, redactor: &Redactor, snapshot: Snapshot, cwd: &str) -> bool {
        let Snapshot { turn, at, difference, model, .. } = snapshot;
        let Difference { base, keeps, messages } = difference;
        if keeps > 0 && (base != self.messages || keeps > base) {
            return false;
        }
        let count = keeps + messages.len();
        let messages: Vec<_> = messages.iter().map(|message| NewMessage::of(redactor, message)).collect();
        let (mut system, mut tools) = self.changed_context();
        if self.snapshots == 0 {
            // The first snapshot is complete, even if no model has been called yet.
            system.get_or_insert_default();
            tools.get_or_insert_default();
        }
        self.last = self.last.max(at);
        let is_written = self.write(
            Kind::Snapshot,
            &NewSnapshot {
                n: self.snapshots + 1,
                ts: self.last,
                turn: &turn,
                keeps: keeps as u64,
                message_count: count as u64,
                messages: &messages,
                system_prompt: system.as_deref().map(|system| Masked::new(redactor, system)),
                tools: tools.as_deref().map(|tools| Masked::new(redactor, tools)),
                model: &model,
                cwd,
            },
        );
        if is_written {
            self.snapshots += 1;
            self.messages = count;
            self.snapshot_context.clone_from(&self.context);
            let data = EventData::Snapshot { n: self.snapshots, message_count: count as u64 };
            self.event(redactor, at, turn.as_str(), &data);
        }
        is_written
    }

    /// Adds the last event.
    pub(crate) fn close(&mut self, redactor: &Redactor, at: Timestamp, reason: &'static str) {
        self.event(redactor, at, "", &EventData::RecordingEnded { reason });
    }

    /// Writes the buffered records.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.journal.flush()
    }

    /// Returns whether the session has been idle for at least `idle`.
    pub(crate) fn is_idle(&self, now: Timestamp, idle: Duration) -> bool {
        let rested = Duration::try_from(now.duration_since(self.last)).unwrap_or_default();
        rested >= idle && (self.turn.is_none() || rested >= MAX_TURN)
    }

    /// Returns the time of the last record.
    pub(crate) fn last(&self) -> Timestamp {
        self.last
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.journal.bytes()
    }

    pub(crate) fn snapshots(&self) -> u64 {
        self.snapshots
    }

    pub(crate) fn stem(&self) -> &str {
        self.journal.stem()
    }

    pub(crate) fn into_journal(self) -> Journal {
        self.journal
    }

    /// Returns the system prompt and the tools, if they differ from those in the last snapshot.
    fn changed_context(&self) -> (Option<Arc<str>>, Option<Arc<[ToolSpec]>>) {
        let Some(now) = &self.context else { return (None, None) };
        let before = self.snapshot_context.as_ref();
        let is_same_system = before.is_some_and(|before| is_same(&now.system, &before.system));
        let is_same_tools = before.is_some_and(|before| is_same(&now.tools, &before.tools));
        ((!is_same_system).then(|| now.system.clone()), (!is_same_tools).then(|| now.tools.clone()))
    }

    fn write(&mut self, kind: Kind, record: &impl Serialize) -> bool {
        let written = self.journal.append(kind, record);
        written.unwrap_or_else(|error| {
            tracing::warn!(%error, "a record could not be written as JSON");
            false
        })
    }
}

/// Compares two values; usually they are the same allocation.
fn is_same<T: ?Sized + PartialEq>(one: &Arc<T>, other: &Arc<T>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}
