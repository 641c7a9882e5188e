//! Documents about recordings. The API returns them, and the terminal prints the same ones when no daemon runs.

use std::collections::BTreeSet;

use aethon_core::error::{Error, Result};
use aethon_core::message::Message as StoredMessage;
use aethon_core::recording::{
    EventPage, ListedRecording, Listing, Manifest, RecordedEvent, RecordedState, Recording, RecordingEntry,
    RecordingName, Recordings, RunningRecording, SnapshotSummary, resumed_title,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::message::{Message, Rendering};

/// Error code for a recording that is refused.
pub const BAD_RECORDING: &str = "bad_recording";

/// How many messages of a state are included at most, the newest ones.
const MAX_MESSAGES: usize = 1_000;

/// The list of recordings.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RecordingList {
    /// The recordings, newest first.
    pub recordings: Vec<ListedDocument>,
    /// How many there are on all pages.
    pub count: usize,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<RecordingName>,
    /// Recordings in progress, newest first.
    pub running: Vec<RunningRecording>,
}

/// A recording in the list. A refused one has only its name, its size and the reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedRecording")]
pub struct ListedDocument {
    name: RecordingName,
    session_id: Option<String>,
    size: u64,
    #[schemars(with = "Option<jiff::Timestamp>")]
    started_at: Option<String>,
    #[schemars(with = "Option<jiff::Timestamp>")]
    ended_at: Option<String>,
    events_count: u64,
    snapshots_count: u64,
    /// Whether it can be opened.
    valid: bool,
    /// `bad_recording` if it cannot be opened.
    code: Option<&'static str>,
    /// Why it cannot be opened.
    error: Option<String>,
}

impl From<ListedRecording> for ListedDocument {
    fn from(listed: ListedRecording) -> Self {
        let ListedRecording { name, size, manifest } = listed;
        let (error, manifest) = (manifest.as_ref().err().cloned(), manifest.ok());
        let text = |moment: fn(&Manifest) -> jiff::Timestamp| {
            manifest.as_ref().map(|manifest| aethon_core::time::text(moment(manifest)))
        };
        Self {
            session_id: manifest.as_ref().map(|manifest| manifest.session_id.clone()),
            started_at: text(|manifest| manifest.started_at),
            ended_at: text(|manifest| manifest.ended_at),
            events_count: manifest.as_ref().map_or(0, |manifest| manifest.events_count),
            snapshots_count: manifest.as_ref().map_or(0, |manifest| manifest.snapshots_count),
            valid: manifest.is_some(),
            code: error.is_some().then_some(BAD_RECORDING),
            error,
            name,
            size,
        }
    }
}

/// Lists at most `limit` recordings, from behind the one that is named.
///
/// # Errors
///
/// No recording has this name (any more), so that nothing is behind it.
pub async fn recordings(
    recordings: &dyn Recordings,
    after: Option<&str>,
    limit: usize,
) -> Result<RecordingList> {
    let Listing { ended, running } = recordings.list().await?;
    let count = ended.len();
    let start = match after {
        None => 0,
        Some(after) => {
            let place = ended.iter().position(|listed| listed.name.as_str() == after);
            place
                .map(|place| place + 1)
                .ok_or_else(|| Error::invalid("the recording is not there any more"))?
        }
    };
    let mut page: Vec<ListedRecording> = ended.into_iter().skip(start).collect();
    let is_last = page.len() <= limit;
    page.truncate(limit);
    let next_cursor = page.last().filter(|_| !is_last).map(|listed| listed.name.clone());
    let recordings = page.into_iter().map(ListedDocument::from).collect();
    Ok(RecordingList { recordings, count, next_cursor, running })
}

/// A recording without its content.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Recording")]
pub struct ShownRecording {
    name: RecordingName,
    /// Its size in bytes.
    size: u64,
    metadata: Manifest,
    session_id: String,
    events_count: u64,
    snapshots_count: u64,
    /// How long it lasted, in seconds.
    duration: f64,
    /// Whether a conversation can go on from it.
    has_resumable_state: bool,
}

/// A recording that passed all checks.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RecordingVerified")]
pub struct VerifiedRecording {
    name: RecordingName,
    /// Always true: another recording is refused.
    valid: bool,
    /// Its size in bytes.
    size: u64,
    session_id: String,
    events_count: u64,
    snapshots_count: u64,
    entries: Vec<RecordingEntry>,
}

/// A page of the events of a recording, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordedEvents<'p> {
    events: &'p [RecordedEvent],
    /// The number after which the next page begins, if there is one.
    next_after: Option<u64>,
}

/// The snapshots of a recording.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Snapshots {
    snapshots: Vec<SnapshotSummary>,
}

/// The state at a snapshot.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SnapshotState {
    #[serde(flatten)]
    summary: SnapshotSummary,
    /// The newest messages, oldest first.
    messages: Vec<Message>,
    /// Whether there are older ones.
    has_more: bool,
    system_prompt: String,
    /// The tools with their schemas.
    tools: Vec<Value>,
    model: String,
    /// The working directory.
    cwd: String,
    #[serde(flatten)]
    preview: Option<Preview>,
}

/// What resuming from a snapshot would make.
#[derive(Debug, Serialize, JsonSchema)]
struct Preview {
    /// The recorded session.
    session_id: String,
    /// Always true: nothing was changed.
    preview: bool,
    would_make: WouldMake,
}

/// The session that would be made.
#[derive(Debug, Serialize, JsonSchema)]
struct WouldMake {
    channel: &'static str,
    title: String,
}

/// What differs between two snapshots.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SnapshotDifference {
    from: u64,
    to: u64,
    /// How many messages at the beginning are the same.
    unchanged: usize,
    removed: Vec<Message>,
    added: Vec<Message>,
    tools_added: Vec<String>,
    tools_removed: Vec<String>,
    system_prompt: Option<Change>,
    model: Option<Change>,
    cwd: Option<Change>,
}

/// A text that differs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TextChange")]
struct Change {
    from: String,
    to: String,
}

impl Change {
    fn between(old: &str, new: &str) -> Option<Self> {
        (old != new).then(|| Self { from: old.to_owned(), to: new.to_owned() })
    }
}

/// Describes one recording.
pub fn recording(recording: &Recording) -> ShownRecording {
    let manifest = &recording.manifest;
    ShownRecording {
        name: recording.name.clone(),
        size: recording.size,
        metadata: manifest.clone(),
        session_id: manifest.session_id.clone(),
        events_count: manifest.events_count,
        snapshots_count: manifest.snapshots_count,
        duration: manifest.seconds(),
        has_resumable_state: manifest.snapshots_count > 0,
    }
}

/// Describes the verified properties of a recording that passed all checks.
pub fn verified(recording: &Recording) -> VerifiedRecording {
    VerifiedRecording {
        name: recording.name.clone(),
        valid: true,
        size: recording.size,
        session_id: recording.manifest.session_id.clone(),
        events_count: recording.manifest.events_count,
        snapshots_count: recording.manifest.snapshots_count,
        entries: recording.entries.clone(),
    }
}

/// Returns a page of events.
pub fn recorded_events(page: &EventPage) -> RecordedEvents<'_> {
    RecordedEvents { events: &page.events, next_after: page.next_after }
}

/// Lists the snapshots of a recording.
pub async fn snapshots(recordings: &dyn Recordings, name: &RecordingName) -> Result<Snapshots> {
    Ok(Snapshots { snapshots: recordings.snapshots(name).await? })
}

/// Returns the state at a snapshot.
pub async fn snapshot(
    recordings: &dyn Recordings,
    (name, number): (&RecordingName, u64),
) -> Result<SnapshotState> {
    let state = recordings.snapshot(name, number).await?;
    let render = move || {
        let RecordedState { summary, mut messages, system_prompt, tools, model, cwd, .. } = state;
        let older = messages.len().saturating_sub(MAX_MESSAGES);
        messages.drain(..older);
        let messages: Vec<Message> =
            messages.into_iter().map(|message| Message::new(message, Rendering::Html)).collect();
        SnapshotState {
            summary,
            messages,
            has_more: older > 0,
            system_prompt,
            tools,
            model,
            cwd,
            preview: None,
        }
    };
    // Rendering takes a while and must not block the other connections on this thread.
    tokio::task::spawn_blocking(render)
        .await
        .map_err(|error| Error::internal("the snapshot could not be rendered").because(error))
}

/// Describes what resuming from a snapshot would produce.
pub async fn replay(
    recordings: &dyn Recordings,
    (name, number): (&RecordingName, u64),
) -> Result<SnapshotState> {
    let recording = recordings.show(name).await?;
    let state = snapshot(recordings, (name, number)).await?;
    let session_id = recording.manifest.session_id;
    let messages = recordings.snapshot(name, number).await?.messages;
    let would_make = WouldMake { channel: "webchat", title: resumed_title(&messages, &session_id, number) };
    Ok(SnapshotState { preview: Some(Preview { session_id, preview: true, would_make }), ..state })
}

/// Returns what differs between two snapshots.
pub async fn difference(
    recordings: &dyn Recordings,
    name: &RecordingName,
    (from, to): (u64, u64),
) -> Result<SnapshotDifference> {
    let (old, new) = (recordings.snapshot(name, from).await?, recordings.snapshot(name, to).await?);
    let same = old.messages.iter().zip(&new.messages).take_while(|(old, new)| old == new).count();
    let told = |messages: &[StoredMessage]| -> Vec<Message> {
        let newest = messages.iter().skip(messages.len().saturating_sub(MAX_MESSAGES));
        newest.map(|message| Message::new(message.clone(), Rendering::Source)).collect()
    };
    let (had, has) = (names(&old), names(&new));
    let only = |some: &BTreeSet<&str>, others: &BTreeSet<&str>| {
        some.difference(others).map(|name| (*name).to_owned()).collect()
    };
    Ok(SnapshotDifference {
        from,
        to,
        unchanged: same,
        removed: told(&old.messages[same..]),
        added: told(&new.messages[same..]),
        tools_added: only(&has, &had),
        tools_removed: only(&had, &has),
        system_prompt: Change::between(&old.system_prompt, &new.system_prompt),
        model: Change::between(&old.model, &new.model),
        cwd: Change::between(&old.cwd, &new.cwd),
    })
}

/// Returns the names of the tools in a state.
fn names(state: &RecordedState) -> BTreeSet<&str> {
    state.tools.iter().filter_map(|tool| tool["name"].as_str().or_else(|| tool.as_str())).collect()
}
