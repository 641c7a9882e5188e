//! The documents of conversations: the listing of sessions, and one of them with its newest messages.
//!
//! The API answers with these, and the terminal prints the same when no daemon runs.

use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::session::{SessionQuery, SessionSummary, TurnPhase, TurnRecord};
use serde::Serialize;

use super::message::{Message, Rendering};
use crate::deps::Chat;

/// A page of the listing.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The sessions, most recently used first.
    pub sessions: Vec<Listed>,
    /// How many match in all.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// A session of the listing.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// What is stored of it.
    #[serde(flatten)]
    pub summary: SessionSummary,
    /// Whether a turn of it runs or waits.
    pub busy: bool,
}

/// One conversation with its newest messages, and what a page needs to go on live from there without losing or doubling
/// anything.
#[derive(Debug, Serialize)]
pub struct Conversation {
    /// The session.
    #[serde(flatten)]
    pub session: Listed,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether there are older messages.
    pub has_more: bool,
    /// The last frame of the live sequence that the messages reflect.
    pub seq: u64,
    /// What was sent and is not answered yet.
    pub pending: Vec<Pending>,
}

/// A message that is not answered yet.
#[derive(Debug, Serialize)]
pub struct Pending {
    turn: TurnId,
    text: String,
    /// `queued`, `running`, or `stopped`: taken back, and not among the messages yet.
    state: &'static str,
}

impl Listed {
    /// A session, and whether it is in use.
    pub fn new(chat: &Chat, summary: SessionSummary) -> Self {
        Self { busy: chat.assistant.is_busy(&summary.session_id), summary }
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

/// The sessions that a query asks for.
pub async fn list(chat: &Chat, query: SessionQuery) -> Result<Page> {
    let page = chat.transcripts.sessions(query).await?;
    Ok(Page {
        sessions: page.sessions.into_iter().map(|summary| Listed::new(chat, summary)).collect(),
        count: page.count,
        next_cursor: page.next_cursor,
    })
}

/// The newest messages of a session, or those before one; `None` when there is no such session.
pub async fn show(
    chat: &Chat,
    id: &SessionId,
    before: Option<MessageId>,
    limit: usize,
) -> Result<Option<Conversation>> {
    let Some(summary) = chat.transcripts.session(id).await? else { return Ok(None) };
    // Before the messages are read: a frame that comes in between is then sent again, never lost.
    let seq = chat.hub.stored_seq(id);
    let pending = chat.transcripts.pending(id).await?;
    let mut messages = chat.transcripts.messages(id, before, limit.saturating_add(1)).await?;
    let has_more = match messages.first() {
        Some(_) if messages.len() > limit => {
            messages.remove(0);
            true
        }
        // A page of large messages is short although there are more.
        Some(first) => !chat.transcripts.messages(id, Some(first.id), 1).await?.is_empty(),
        None => false,
    };
    let session = Listed::new(chat, summary);
    // Rendering a long transcript takes a while; the connections that share this thread should not wait for it.
    let render = move || messages.into_iter().map(|message| Message::new(message, Rendering::Html)).collect();
    let messages = tokio::task::spawn_blocking(render).await;
    let messages =
        messages.map_err(|error| Error::internal("the transcript could not be rendered").because(error))?;
    let pending = pending.into_iter().map(Pending::from).collect();
    Ok(Some(Conversation { session, messages, has_more, seq, pending }))
}
