//! Recordings of sessions: what happened in them, event by event, and their state after each turn.
//!
//! [`Recordings`] is how pages, the API and the terminal read and remove the recordings of a home. A recording may come
//! from anywhere, so opening one fails as invalid if anything about it is not as it should be, with the same message
//! from every method. [`resume`] continues from a snapshot in a session of its own.

use std::io::Read;

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::ids::{SessionId, unique};
use crate::import::{NewSession, SessionImport};
use crate::message::{Block, Message, Role};
use crate::session::title_of;
use crate::untrusted;
use crate::words::words;

/// The recordings of a home.
#[async_trait]
pub trait Recordings: Send + Sync {
    /// Lists all of them, including those that cannot be opened and those that are still being written.
    async fn list(&self) -> Result<Listing>;

    /// Returns one, with every checksum verified.
    async fn show(&self, name: &RecordingName) -> Result<Recording>;

    /// Returns some of its events.
    async fn events(&self, name: &RecordingName, query: EventQuery) -> Result<EventPage>;

    /// Returns its snapshots, oldest first.
    async fn snapshots(&self, name: &RecordingName) -> Result<Vec<SnapshotSummary>>;

    /// Returns the whole state after a turn. Not found if there is no such snapshot.
    async fn snapshot(&self, name: &RecordingName, number: u64) -> Result<RecordedState>;

    /// Returns the file itself, after verification.
    async fn download(&self, name: &RecordingName) -> Result<RecordingFile>;

    /// Removes one, whatever it contains. `false` if there is none.
    async fn remove(&self, name: &RecordingName) -> Result<bool>;
}

/// The longest name of a recording, in bytes.
pub const MAX_RECORDING_NAME: usize = 240;

/// The name of a recording: that of its file, without `.zip`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct RecordingName(String);

impl RecordingName {
    /// Validates a name. It refers to a file in one folder and nothing else: no separators, no control characters, no
    /// leading dot.
    pub fn parse(name: &str) -> Option<Self> {
        let is_bad = |c: char| c.is_control() || matches!(c, '/' | '\\');
        let is_fit = (1..=MAX_RECORDING_NAME).contains(&name.len());
        (is_fit && !name.starts_with('.') && !name.contains(is_bad)).then(|| Self(name.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RecordingName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The recordings of a home.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Finished recordings, newest first.
    pub ended: Vec<ListedRecording>,
    /// Recordings that are still being written, newest first.
    pub running: Vec<RunningRecording>,
}

/// A recording that is being written. It can be opened under its name once it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunningRecording {
    /// The name that it will have.
    pub name: RecordingName,
    /// The session that is recorded.
    pub session_id: String,
    /// When it began.
    pub started_at: String,
    /// The size of its journal in bytes.
    pub size: u64,
}

/// A recording in the list.
#[derive(Debug, Clone)]
pub struct ListedRecording {
    /// Its name.
    pub name: RecordingName,
    /// The size of its file in bytes.
    pub size: u64,
    /// Its manifest, or why it is rejected.
    pub manifest: std::result::Result<Manifest, String>,
}

/// A verified recording.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Its name.
    pub name: RecordingName,
    /// The size of its file in bytes.
    pub size: u64,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its verified entries.
    pub entries: Vec<RecordingEntry>,
}

/// The manifest of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RecordingManifest")]
pub struct Manifest {
    /// The version of the format.
    pub format_version: u32,
    /// The session that was recorded.
    pub session_id: String,
    /// When the recording began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(serialize_with = "crate::time::serialize")]
    pub ended_at: Timestamp,
    /// The version of the program that made it.
    pub version: String,
    /// How many events there are.
    pub events_count: u64,
    /// How many snapshots there are.
    pub snapshots_count: u64,
}

impl Manifest {
    /// Returns how long the recording lasted, in seconds.
    pub fn seconds(&self) -> f64 {
        self.ended_at.duration_since(self.started_at).as_secs_f64().max(0.0)
    }
}

/// An entry of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordingEntry {
    /// Its name.
    pub name: String,
    /// Its size in bytes, unpacked.
    pub size: u64,
    /// The SHA-256 of its content.
    pub sha256: String,
}

words! {
    /// The part of the program that an event comes from.
    pub enum Layer {
        /// The program itself: the recording, the session.
        Sys = "sys",
        /// Calls of tools and their results.
        Tool = "tool",
        /// The agent: turns and models.
        Agent = "agent",
    }
}

/// Something that happened in a recorded session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedEvent {
    /// When, RFC 3339.
    pub ts: String,
    /// The part of the program that it comes from.
    pub layer: Layer,
    /// What happened, a stable word.
    pub r#type: String,
    /// Its data.
    #[serde(default)]
    pub data: Value,
    /// Groups related events: the turn, if there is one.
    #[serde(default)]
    pub trace_id: String,
    /// Its number in the recording, which grows.
    pub seq: u64,
}

/// A filter for events.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Only those of this layer.
    pub layer: Option<Layer>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those after this number.
    pub after: Option<u64>,
    /// The most events to return.
    pub limit: usize,
}

/// Some events of a recording.
#[derive(Debug, Clone, Default)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<RecordedEvent>,
    /// The number after which the next page begins, if there is one.
    pub next_after: Option<u64>,
}

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Snapshot")]
pub struct SnapshotSummary {
    /// Its number, from 1.
    pub n: u64,
    /// When it was taken, RFC 3339; absent if the recording does not say.
    pub ts: Option<String>,
    /// How many messages the conversation had.
    pub message_count: u64,
    /// The turn after which it was taken.
    pub turn: Option<String>,
}

/// Everything that a model worked with after a turn.
#[derive(Debug, Clone)]
pub struct RecordedState {
    /// Which snapshot it is.
    pub summary: SnapshotSummary,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The system prompt.
    pub system_prompt: String,
    /// The tools offered to the model, as described to it.
    pub tools: Vec<Value>,
    /// The model that answered.
    pub model: String,
    /// The base directory of relative paths.
    pub cwd: String,
    /// Whether this home made the recording. Any other counts as text from outside.
    pub is_own: bool,
}

/// A recording as a file.
pub struct RecordingFile {
    /// Its size in bytes.
    pub size: u64,
    /// Its bytes. Reading blocks.
    pub bytes: Box<dyn Read + Send>,
}

impl std::fmt::Debug for RecordingFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingFile").field("size", &self.size).finish_non_exhaustive()
    }
}

/// Creates a session with the conversation as it was at a snapshot. It is a browser chat session, whatever the recorded
/// one was, so that a person can continue it there. In a recording from elsewhere every message counts as outside content,
/// whatever it claims; one of this home keeps the marks that its messages had.
pub async fn resume(
    recordings: &dyn Recordings,
    sessions: &dyn SessionImport,
    (name, number): (&RecordingName, u64),
) -> Result<SessionId> {
    let recording = recordings.show(name).await?;
    let mut state = recordings.snapshot(name, number).await?;
    if !state.is_own {
        state.messages.iter_mut().for_each(mark_foreign);
    }
    let title = resumed_title(&state.messages, &recording.manifest.session_id, number);
    // The end of the id is random, so a clash with an existing session is a chance of one in millions.
    for _ in 0..3 {
        let id = SessionId::of("webchat", &format!("resumed-{}", &unique()[20..]))
            .map_err(|error| Error::internal(error.to_string()))?;
        let (title, messages) = (title.clone(), state.messages.clone());
        let session = NewSession { id: id.clone(), title, sender: "owner".into(), messages };
        if sessions.import(session).await? {
            return Ok(id);
        }
    }
    Err(Error::internal("no free name was found for the new session"))
}

/// Marks everything in a message as outside content.
fn mark_foreign(message: &mut Message) {
    // A model's text beside its calls stays its own in form, because results must follow their calls.
    let has_calls = message.tool_calls().next().is_some();
    for block in &mut message.content {
        match block {
            Block::Text { untrusted, .. } if !has_calls => {
                untrusted.get_or_insert_with(untrusted::boundary);
            }
            Block::File { untrusted, .. } => {
                untrusted.get_or_insert_with(untrusted::boundary);
            }
            Block::ToolResult(result) => {
                result.untrusted.get_or_insert_with(untrusted::boundary);
            }
            // A summary has no markers of its own. The messages it summarises are in the conversation, too.
            Block::Folded { summary, .. } => *block = Block::context(FOREIGN, std::mem::take(summary)),
            Block::Context { source, .. } => *source = FOREIGN.to_owned(),
            _ => {}
        }
    }
}

/// The source of context that a recording from elsewhere brings.
const FOREIGN: &str = "a recording from elsewhere";

/// The title of a session that continues from a snapshot: what its conversation began with, else the recorded session.
pub fn resumed_title(messages: &[Message], session: &str, number: u64) -> String {
    let asked = messages.iter().find(|message| message.role == Role::User).map(title_of);
    let title = asked.filter(|title| !title.is_empty()).unwrap_or_else(|| session.to_owned());
    format!("{} (from turn {number})", title.chars().take(60).collect::<String>().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ToolCall, ToolResult};

    #[test]
    fn everything_in_a_recording_from_elsewhere_comes_from_outside() {
        let call = ToolCall { id: "1".into(), name: "think".into(), input: Value::Null, opaque: None };
        let file = Block::File {
            name: "CONTEXT.md".into(),
            mime: "text/markdown".into(),
            text: "a".into(),
            untrusted: None,
        };
        let folded = Block::Folded { messages: 2, from: "1".into(), to: "2".into(), summary: "obey".into() };
        for (role, block) in [
            (Role::User, Block::text("obey")),
            (Role::User, file),
            (Role::Assistant, Block::text("I always obey.")),
            (Role::Tool, Block::ToolResult(ToolResult::ok(&call, "done"))),
            (Role::System, folded),
            (Role::System, Block::context("verification", "obey")),
        ] {
            let mut message = Message::new(role, vec![block], Timestamp::UNIX_EPOCH);
            mark_foreign(&mut message);
            let is_data = match &message.content[0] {
                Block::Context { source, .. } => source == FOREIGN,
                block => block.outside().is_some(),
            };
            assert!(is_data, "{message:?}");
        }
        let mut calling = Message::new(
            Role::Assistant,
            vec![Block::text("a"), Block::ToolCall(call)],
            Timestamp::UNIX_EPOCH,
        );
        mark_foreign(&mut calling);
        assert!(calling.content.iter().all(|block| block.outside().is_none()));
    }

    #[test]
    fn a_name_is_that_of_a_file_in_one_folder() {
        let check = |name: &str, is_fit: bool| {
            assert_eq!(RecordingName::parse(name).is_some(), is_fit, "{name:?}");
        };
        check("webchat-default-20261122T100000000Z", true);
        check("Ünï code (2)", true);
        check("a..b", true);
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a\0b", "a\nb", &"x".repeat(241)] {
            check(name, false);
        }
    }
}
