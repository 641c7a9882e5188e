//! A running recording: its journal, and the state needed to write the next record.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::recording::Layer;
use aethon_core::redact::Redactor;
use aethon_core::time::text;
use aethon_core::tool::ToolSpec;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::journal::{Journal, Kind};
use crate::mask;
use crate::names;
use crate::pack::ENDED;
use crate::queue::Snapshot;
use crate::record::{FORMAT, Head, NewEvent, NewMessage, NewSnapshot};

/// After this long a session counts as idle even if a turn seems to be running.
const LONGEST_TURN: Duration = Duration::from_secs(24 * 3600);

/// A running recording.
pub(crate) struct Live {
    journal: Journal,
    seq: u64,
    snapshots: u64,
    /// Number of messages in the last snapshot.
    messages: usize,
    last: Timestamp,
    /// The running turn.
    turn: Option<String>,
    offered: Offer,
    written: Offer,
}

/// What the model is given besides the conversation.
#[derive(Clone, Default)]
struct Offer {
    system: Option<Arc<str>>,
    tools: Option<Arc<[ToolSpec]>>,
}

impl Live {
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
        journal.append(Kind::Head, &serde_json::to_vec(&head)?);
        journal.flush()?;
        Ok(Self {
            journal,
            seq: 0,
            snapshots: 0,
            messages: 0,
            last: at,
            turn: None,
            offered: Offer::default(),
            written: Offer::default(),
        })
    }

    /// Adds an event with its secrets masked.
    pub(crate) fn event(
        &mut self,
        redactor: &Redactor,
        (at, trace_id): (Timestamp, &str),
        (layer, kind): (Layer, &str),
        mut data: Value,
    ) {
        match kind {
            "turn_started" => self.turn = Some(trace_id.to_owned()),
            // The next turn may have begun before the hooks saw the end of this one.
            "turn_ended" => self.turn = self.turn.take().filter(|turn| turn != trace_id),
            _ => {}
        }
        mask::value(redactor, &mut data);
        self.last = self.last.max(at);
        self.seq += 1;
        let (seq, ts) = (self.seq, text(self.last));
        self.write(Kind::Event, &NewEvent { seq, ts: &ts, layer, r#type: kind, data: &data, trace_id });
    }

    /// Sets what the model is given from now on.
    pub(crate) fn offer(&mut self, system: Arc<str>, tools: Arc<[ToolSpec]>) {
        self.offered = Offer { system: Some(system), tools: Some(tools) };
    }

    /// Adds a snapshot. Returns `false` if it does not continue the previous one, or could not be written.
    pub(crate) fn snapshot(&mut self, redactor: &Redactor, snapshot: Snapshot, cwd: &str) -> bool {
        let Snapshot { turn, at, base, keeps, messages, model, .. } = snapshot;
        if keeps > 0 && (base != self.messages || keeps > base) {
            return false;
        }
        let count = keeps + messages.len();
        let Ok(mut content) = serde_json::to_value(messages.iter().map(NewMessage::of).collect::<Vec<_>>())
        else {
            return false;
        };
        mask_messages(redactor, &mut content);
        let Offer { system, tools } = self.changed();
        let system = system.map(|system| mask::text(redactor, &system).into_owned());
        let tools = tools.and_then(|tools| serde_json::to_value(&*tools).ok()).map(|mut tools| {
            mask::value(redactor, &mut tools);
            tools
        });
        let is_first = self.snapshots == 0;
        let (system, tools) = if is_first {
            // The first snapshot is complete, even if no model has been called yet.
            (Some(system.unwrap_or_default()), Some(tools.unwrap_or_else(|| json!([]))))
        } else {
            (system, tools)
        };
        self.last = self.last.max(at);
        let is_written = self.write(
            Kind::Snapshot,
            &NewSnapshot {
                n: self.snapshots + 1,
                ts: &text(self.last),
                turn: &turn,
                keeps: keeps as u64,
                message_count: count as u64,
                messages: &content,
                system_prompt: system.as_deref(),
                tools: tools.as_ref(),
                model: &model,
                cwd,
            },
        );
        if is_written {
            self.snapshots += 1;
            self.messages = count;
            self.written = self.offered.clone();
            let data = json!({ "n": self.snapshots, "message_count": count });
            self.event(redactor, (at, turn.as_str()), (Layer::Sys, "snapshot"), data);
        }
        is_written
    }

    /// Adds the last event.
    pub(crate) fn close(&mut self, redactor: &Redactor, at: Timestamp, reason: &str) {
        self.event(redactor, (at, ""), (Layer::Sys, ENDED), json!({ "reason": reason }));
    }

    /// Writes the buffered records.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.journal.flush()
    }

    /// Returns whether the session has been idle for at least `idle`.
    pub(crate) fn rests(&self, now: Timestamp, idle: Duration) -> bool {
        let rested = Duration::try_from(now.duration_since(self.last)).unwrap_or_default();
        rested >= idle && (self.turn.is_none() || rested >= LONGEST_TURN)
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

    /// Returns what differs from the offer in the last snapshot.
    fn changed(&self) -> Offer {
        let (now, before) = (&self.offered, &self.written);
        Offer {
            system: now.system.clone().filter(|_| !is_same(now.system.as_ref(), before.system.as_ref())),
            tools: now.tools.clone().filter(|_| !is_same(now.tools.as_ref(), before.tools.as_ref())),
        }
    }

    fn write(&mut self, kind: Kind, record: &impl Serialize) -> bool {
        match serde_json::to_vec(record) {
            Ok(json) => self.journal.append(kind, &json),
            Err(error) => {
                tracing::warn!(%error, "a record could not be written as JSON");
                false
            }
        }
    }
}

/// Compares two values; usually they are the same allocation.
fn is_same<T: ?Sized + PartialEq>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Masks only the content of messages: their role and time are no secrets, and could not be parsed back from `***`.
fn mask_messages(redactor: &Redactor, messages: &mut Value) {
    for message in messages.as_array_mut().into_iter().flatten() {
        if let Some(content) = message.get_mut("content") {
            mask::value(redactor, content);
        }
    }
}
