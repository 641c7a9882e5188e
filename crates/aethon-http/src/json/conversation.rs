//! Documents about conversations: the list of sessions, and one session with its newest messages.
//!
//! The API returns them, and the terminal prints the same ones when no daemon runs.

use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::session::{SessionQuery, SessionSummary, TurnPhase, TurnRecord};
use serde::Serialize;

use super::message::{Message, Rendering};
use crate::deps::Chat;

/// A page of the session list.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The sessions, most recently used first.
    pub sessions: Vec<Listed>,
    /// How many match in total.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// A session in the list.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
pub struct Conversation {
    /// The session.
    #[serde(flatten)]
    pub session: Listed,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether there are older messages.
    pub has_more: bool,
    /// The last live frame that the messages reflect.
    pub seq: u64,
    /// Messages that were sent and have no answer yet.
    pub pending: Vec<Pending>,
}

/// A message without an answer yet.
#[derive(Debug, Serialize)]
pub struct Pending {
    turn: TurnId,
    text: String,
    /// `queued`, `running`, or `stopped`: cancelled, but not yet among the messages.
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

/// Returns the newest messages of a session, or those before a given one. Returns `None` if there is no such session.
pub async fn show(
    chat: &Chat,
    id: &SessionId,
    before: Option<MessageId>,
    limit: usize,
) -> Result<Option<Conversation>> {
    let Some(summary) = chat.transcripts.session(id).await? else { return Ok(None) };
    // Read before the messages: a frame that arrives in between is then sent twice rather than lost.
    let seq = chat.hub.stored_seq(id);
    let pending = chat.transcripts.pending(id).await?;
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
    let session = Listed::new(chat, summary);
    // Rendering a long transcript takes a while and must not block the other connections on this thread.
    let render = move || messages.into_iter().map(|message| Message::new(message, Rendering::Html)).collect();
    let messages = tokio::task::spawn_blocking(render).await;
    let messages =
        messages.map_err(|error| Error::internal("the transcript could not be rendered").because(error))?;
    let pending = pending.into_iter().map(Pending::from).collect();
    Ok(Some(Conversation { session, messages, has_more, seq, pending }))
}
