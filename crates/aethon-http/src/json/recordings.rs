//! Documents about recordings. The API returns them, and the terminal prints the same ones when no daemon runs.

use std::collections::BTreeSet;

use aethon_core::error::{Error, Result};
use aethon_core::message::Message as StoredMessage;
use aethon_core::order::{Order, Place, RecordingField, SortValue};
use aethon_core::recording::{
    EventPage, ListedRecording, Listing, Manifest, RecordedState, Recording, RecordingName, Recordings,
    RunningRecording, resumed_title,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::message::{Message, Rendering};

/// Error code for a recording that is refused.
pub const BAD_RECORDING: &str = "bad_recording";

/// How many messages of a state are included at most, the newest ones.
const MAX_MESSAGES: usize = 1_000;

/// The list of recordings.
#[derive(Debug, Serialize)]
pub struct RecordingList {
    /// The recordings, newest first.
    pub recordings: Vec<ListedDocument>,
    /// How many there are.
    pub count: usize,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
    /// Recordings in progress, newest first.
    pub running: Vec<RunningRecording>,
}

/// Which recordings to list.
#[derive(Debug)]
pub struct RecordingQuery<'q> {
    /// Words that their names and sessions must contain.
    pub words: String,
    /// Their order.
    pub order: Order<RecordingField>,
    /// Where the previous page ended.
    pub cursor: Option<&'q str>,
    /// How many at most.
    pub limit: usize,
}

/// A recording in the list. A refused one has only its name, its size and the reason.
#[derive(Debug, Serialize)]
pub struct ListedDocument {
    name: RecordingName,
    session_id: Option<String>,
    size: u64,
    started_at: Option<String>,
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

impl ListedDocument {
    /// Its place in the order of a field; a refused one has only a name and a size.
    fn place(&self, field: RecordingField) -> Place<String> {
        let time = |text: &Option<String>| Some(SortValue::time(text.as_ref()?.parse().ok()?));
        let count = |count: u64| self.valid.then(|| SortValue::count(count));
        let value = match field {
            RecordingField::Started => time(&self.started_at),
            RecordingField::Ended => time(&self.ended_at),
            RecordingField::Duration => match (time(&self.started_at), time(&self.ended_at)) {
                (Some(SortValue::Number(start)), Some(SortValue::Number(end))) => {
                    Some(SortValue::Number(end.saturating_sub(start)))
                }
                _ => None,
            },
            RecordingField::Events => count(self.events_count),
            RecordingField::Snapshots => count(self.snapshots_count),
            RecordingField::Size => Some(SortValue::count(self.size)),
            RecordingField::Session => self.session_id.as_deref().map(SortValue::text),
        };
        Place { value, key: self.name.to_string() }
    }
}

/// Lists the recordings.
pub async fn recordings(recordings: &dyn Recordings, query: RecordingQuery<'_>) -> Result<RecordingList> {
    let Listing { ended, running } = recordings.list().await?;
    let words = query.words.to_lowercase();
    let has_words = |listed: &ListedDocument| {
        let session = listed.session_id.as_deref().unwrap_or_default();
        let text = format!("{} {session}", listed.name).to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    };
    let listed = ended.into_iter().map(ListedDocument::from).filter(has_words).collect();
    let place = |listed: &ListedDocument| listed.place(query.order.by);
    let page = query.order.page(listed, place, query.cursor, query.limit)?;
    Ok(RecordingList { count: page.count, recordings: page.rows, next_cursor: page.next_cursor, running })
}

/// Describes one recording.
pub fn recording(recording: &Recording) -> Value {
    let manifest = &recording.manifest;
    json!({
        "name": recording.name,
        "size": recording.size,
        "metadata": manifest,
        "session_id": manifest.session_id,
        "events_count": manifest.events_count,
        "snapshots_count": manifest.snapshots_count,
        "duration": manifest.seconds(),
        "has_resumable_state": manifest.snapshots_count > 0,
    })
}

/// Describes the verified properties of a recording that passed all checks.
pub fn verified(recording: &Recording) -> Value {
    json!({
        "name": recording.name,
        "valid": true,
        "size": recording.size,
        "session_id": recording.manifest.session_id,
        "events_count": recording.manifest.events_count,
        "snapshots_count": recording.manifest.snapshots_count,
        "entries": recording.entries,
    })
}

/// Returns a page of events.
pub fn recorded_events(page: &EventPage) -> Value {
    json!({ "events": page.events, "next_after": page.next_after })
}

/// Lists the snapshots of a recording.
pub async fn snapshots(recordings: &dyn Recordings, name: &RecordingName) -> Result<Value> {
    Ok(json!({ "snapshots": recordings.snapshots(name).await? }))
}

/// Returns the state at a snapshot.
pub async fn snapshot(recordings: &dyn Recordings, (name, number): (&RecordingName, u64)) -> Result<Value> {
    let state = recordings.snapshot(name, number).await?;
    let render = move || {
        let mut document = json!(state.summary);
        let RecordedState { mut messages, system_prompt, tools, model, cwd, .. } = state;
        let older = messages.len().saturating_sub(MAX_MESSAGES);
        messages.drain(..older);
        let messages: Vec<Message> =
            messages.into_iter().map(|message| Message::new(message, Rendering::Html)).collect();
        if let Some(fields) = document.as_object_mut() {
            fields.extend([
                ("messages".to_owned(), json!(messages)),
                ("has_more".to_owned(), json!(older > 0)),
                ("system_prompt".to_owned(), json!(system_prompt)),
                ("tools".to_owned(), json!(tools)),
                ("model".to_owned(), json!(model)),
                ("cwd".to_owned(), json!(cwd)),
            ]);
        }
        document
    };
    // Rendering takes a while and must not block the other connections on this thread.
    tokio::task::spawn_blocking(render)
        .await
        .map_err(|error| Error::internal("the snapshot could not be rendered").because(error))
}

/// Describes what resuming from a snapshot would produce.
pub async fn replay(recordings: &dyn Recordings, (name, number): (&RecordingName, u64)) -> Result<Value> {
    let recording = recordings.show(name).await?;
    let mut document = snapshot(recordings, (name, number)).await?;
    if let Some(fields) = document.as_object_mut() {
        let session = &recording.manifest.session_id;
        fields.insert("session_id".into(), json!(session));
        fields.insert("preview".into(), json!(true));
        fields.insert(
            "would_make".into(),
            json!({ "channel": "webchat", "title": resumed_title(session, number) }),
        );
    }
    Ok(document)
}

/// Returns what differs between two snapshots.
pub async fn difference(
    recordings: &dyn Recordings,
    name: &RecordingName,
    (from, to): (u64, u64),
) -> Result<Value> {
    let (old, new) = (recordings.snapshot(name, from).await?, recordings.snapshot(name, to).await?);
    let same = old.messages.iter().zip(&new.messages).take_while(|(old, new)| old == new).count();
    let told = |messages: &[StoredMessage]| -> Vec<Message> {
        let newest = messages.iter().skip(messages.len().saturating_sub(MAX_MESSAGES));
        newest.map(|message| Message::new(message.clone(), Rendering::Source)).collect()
    };
    let (had, has) = (names(&old), names(&new));
    let changed = |old: &str, new: &str| (old != new).then(|| json!({ "from": old, "to": new }));
    Ok(json!({
        "from": from,
        "to": to,
        "unchanged": same,
        "removed": told(&old.messages[same..]),
        "added": told(&new.messages[same..]),
        "tools_added": has.difference(&had).collect::<Vec<_>>(),
        "tools_removed": had.difference(&has).collect::<Vec<_>>(),
        "system_prompt": changed(&old.system_prompt, &new.system_prompt),
        "model": changed(&old.model, &new.model),
        "cwd": changed(&old.cwd, &new.cwd),
    }))
}

/// Returns the names of the tools in a state.
fn names(state: &RecordedState) -> BTreeSet<&str> {
    state.tools.iter().filter_map(|tool| tool["name"].as_str().or_else(|| tool.as_str())).collect()
}
