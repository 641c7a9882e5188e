//! Documents about conversations: the list of sessions, and one session with its newest messages.
//!
//! The API returns them, and the terminal prints the same ones when no daemon runs.

use aethon_core::error::{Error, Result};
use aethon_core::history::{History, MessageHit, MessageQuery, TurnVersions};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::Message as StoredMessage;
use aethon_core::session::{SessionQuery, SessionSummary, TurnPhase, TurnRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::message::{Message, Rendering};
use crate::deps::Chat;

/// A page of the session list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionList")]
pub struct Page {
    /// The sessions, most recently used first.
    pub sessions: Vec<Listed>,
    /// How many match in total.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// A session in the list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct Listed {
    /// Its stored summary.
    #[serde(flatten)]
    pub summary: SessionSummary,
    /// Whether it has a running or queued turn.
    pub busy: bool,
    /// How many calls in it wait for approval.
    pub waiting: usize,
}

/// One conversation with its newest messages, and the data that a page needs to continue live from there without
/// missing or duplicating anything.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Conversation {
    /// The session.
    #[serde(flatten)]
    pub session: Listed,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether there are older messages.
    pub has_more: bool,
    /// Whether there are newer messages.
    pub has_newer: bool,
    /// The last live frame that the messages reflect.
    pub seq: u64,
    /// Messages that were sent and have no answer yet.
    pub pending: Vec<Pending>,
    /// The turns of these messages that have several versions.
    pub versions: Vec<TurnVersions>,
}

/// A message without an answer yet.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PendingTurn")]
pub struct Pending {
    turn: TurnId,
    text: String,
    /// `queued`, `running`, or `stopped`: cancelled, but not yet among the messages.
    #[schemars(extend("enum" = ["queued", "running", "stopped"]))]
    state: &'static str,
}

impl Listed {
    /// Combines a session with whether it is in use.
    pub fn new(chat: &Chat, summary: SessionSummary) -> Self {
        let id = &summary.session_id;
        Self { busy: chat.assistant.is_busy(id), waiting: chat.approvals.waiting_in(id), summary }
    }
}

impl From<TurnRecord> for Pending {
    fn from(record: TurnRecord) -> Self {
        let state = match record.phase {
            TurnPhase::Queued => "queued",
            TurnPhase::Running => "running",
            TurnPhase::Done => "stopped",
        };
        Self { turn: record.turn, text: record.inbound.text, state }
    }
}

/// Lists the sessions that match a query.
pub async fn list(chat: &Chat, query: SessionQuery) -> Result<Page> {
    let page = chat.transcripts.sessions(query).await?;
    Ok(Page {
        sessions: page.sessions.into_iter().map(|summary| Listed::new(chat, summary)).collect(),
        count: page.count,
        next_cursor: page.next_cursor,
    })
}

/// Messages that contain the words looked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundMessages {
    /// The messages, newest first.
    pub hits: Vec<MessageHit>,
    /// Where the next page begins, if there is one: the id of the last message.
    pub next_cursor: Option<String>,
}

/// Finds messages by their words.
pub async fn found_messages(history: &dyn History, query: MessageQuery) -> Result<FoundMessages> {
    let found = history.find(query).await?;
    let last = found.hits.last().filter(|_| found.has_more);
    Ok(FoundMessages { next_cursor: last.map(|hit| hit.message_id.0.to_string()), hits: found.hits })
}

/// Which messages of a conversation a page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The newest ones.
    End,
    /// The ones before a message.
    Before(MessageId),
    /// The ones after a message.
    After(MessageId),
    /// A message, with as many before it as after it.
    Around(MessageId),
}

/// Messages of a conversation, oldest first, and whether there are others around them.
struct Stretch {
    messages: Vec<StoredMessage>,
    has_more: bool,
    has_newer: bool,
}

/// Reads a page of messages; `None` if the message that it is to be around is not in the conversation.
async fn stretch(chat: &Chat, id: &SessionId, place: Place, limit: usize) -> Result<Option<Stretch>> {
    let older = async |before, limit| older(chat, id, before, limit).await;
    let newer = async |after, limit| newer(chat, id, after, limit).await;
    let is_there = async |after| Ok::<_, Error>(!newer(after, 1).await?.0.is_empty());
    let (messages, has_more, has_newer) = match place {
        Place::End => {
            let (messages, has_more) = older(None, limit).await?;
            (messages, has_more, false)
        }
        Place::Before(before) => {
            let (messages, has_more) = older(Some(before), limit).await?;
            let has_newer = is_there(MessageId(before.0.saturating_sub(1))).await?;
            (messages, has_more, has_newer)
        }
        Place::After(after) => {
            let (messages, has_newer) = newer(after, limit).await?;
            let has_more = !older(Some(MessageId(after.0.saturating_add(1))), 1).await?.0.is_empty();
            (messages, has_more, has_newer)
        }
        Place::Around(message) => {
            let with_it = MessageId(message.0.saturating_add(1));
            let (mut messages, has_more) = older(Some(with_it), (limit / 2).max(1)).await?;
            if messages.last().is_none_or(|last| last.id != message) {
                return Ok(None);
            }
            let (after, has_newer) = match limit.saturating_sub(messages.len()) {
                0 => (Vec::new(), is_there(message).await?),
                left => newer(message, left).await?,
            };
            messages.extend(after);
            (messages, has_more, has_newer)
        }
    };
    Ok(Some(Stretch { messages, has_more, has_newer }))
}

/// Reads the newest messages before one, and whether there are more.
async fn older(
    chat: &Chat,
    id: &SessionId,
    before: Option<MessageId>,
    limit: usize,
) -> Result<(Vec<StoredMessage>, bool)> {
    let mut messages = chat.transcripts.messages(id, before, limit.saturating_add(1)).await?;
    let has_more = match messages.first() {
        Some(_) if messages.len() > limit => {
            messages.remove(0);
            true
        }
        // A page of large messages is short even if there are more.
        Some(first) => !chat.transcripts.messages(id, Some(first.id), 1).await?.is_empty(),
        None => false,
    };
    Ok((messages, has_more))
}

/// Reads the oldest messages after one, and whether there are more.
async fn newer(
    chat: &Chat,
    id: &SessionId,
    after: MessageId,
    limit: usize,
) -> Result<(Vec<StoredMessage>, bool)> {
    let mut messages = chat.history.messages_after(id, after, limit.saturating_add(1)).await?;
    let has_newer = match messages.last() {
        Some(_) if messages.len() > limit => {
            messages.pop();
            true
        }
        Some(last) => !chat.history.messages_after(id, last.id, 1).await?.is_empty(),
        None => false,
    };
    Ok((messages, has_newer))
}

/// The answer to a request for a conversation.
#[derive(Debug)]
pub enum Shown {
    /// The messages asked for.
    Conversation(Box<Conversation>),
    /// The conversation does not have the message that the others were to be around.
    NoMessage,
    /// There is no such conversation.
    NoSession,
}

/// Returns messages of a session.
pub async fn show(chat: &Chat, id: &SessionId, place: Place, limit: usize) -> Result<Shown> {
    let Some(summary) = chat.transcripts.session(id).await? else { return Ok(Shown::NoSession) };
    // Read before the messages: a frame that arrives in between is then sent twice rather than lost.
    let seq = chat.hub.stored_seq(id);
    let pending = chat.transcripts.pending(id).await?;
    let Some(Stretch { messages, has_more, has_newer }) = stretch(chat, id, place, limit).await? else {
        return Ok(Shown::NoMessage);
    };
    let mut versions = chat.history.versions(id).await?;
    versions.retain(|versions| messages.iter().any(|message| message.turn.as_ref() == Some(&versions.turn)));
    let session = Listed::new(chat, summary);
    // Rendering a long transcript takes a while and must not block the other connections on this thread.
    let render = move || messages.into_iter().map(|message| Message::new(message, Rendering::Html)).collect();
    let messages = tokio::task::spawn_blocking(render).await;
    let messages =
        messages.map_err(|error| Error::internal("the transcript could not be rendered").because(error))?;
    let pending = pending.into_iter().map(Pending::from).collect();
    let shown = Conversation { session, messages, has_more, has_newer, seq, pending, versions };
    Ok(Shown::Conversation(Box::new(shown)))
}
