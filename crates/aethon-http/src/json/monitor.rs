//! What happened lately in all conversations, in one document.
//!
//! The live monitor starts with it. One request for each conversation would take as many as there are conversations, and
//! carry the rendered text and the pictures, which a list of events does not show.

use aethon_core::error::Result;
use aethon_core::ids::SessionId;
use aethon_core::session::{SessionQuery, SessionSummary};
use schemars::JsonSchema;
use serde::Serialize;

use super::message::{Message, Rendering};
use crate::deps::Chat;

/// The longest text of a block, here and in events. A page that shows more of one loads the message.
pub(crate) const MAX_TEXT: usize = 4096;

/// How many bytes of messages there are about at most; conversations that would exceed it have none.
const MAX_BYTES: usize = 4 << 20;

/// A conversation and its newest messages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MonitoredConversation")]
pub struct Watched {
    session_id: SessionId,
    title: String,
    channel: String,
    /// Whether it has a running or queued turn.
    busy: bool,
    /// Its newest messages, oldest first: long texts are cut, and pictures have no data.
    messages: Vec<Message>,
}

/// How much of them to return.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// How many conversations, the most recently used ones.
    pub conversations: usize,
    /// How many messages of each.
    pub messages: usize,
    /// One that is to be among them, whenever it was used.
    pub session: Option<SessionId>,
}

/// Returns the newest messages of the newest conversations.
pub async fn watched(chat: &Chat, wanted: &Wanted) -> Result<Vec<Watched>> {
    let page = chat.transcripts.sessions(SessionQuery::newest(wanted.conversations)).await?;
    let mut summaries = page.sessions;
    if let Some(id) = &wanted.session
        && !summaries.iter().any(|summary| summary.session_id == *id)
        && let Some(summary) = chat.transcripts.session(id).await?
    {
        summaries.insert(0, summary);
    }
    let (mut all, mut bytes) = (Vec::with_capacity(summaries.len()), 0);
    for SessionSummary { session_id, title, channel, .. } in summaries {
        let messages = match bytes < MAX_BYTES {
            true => chat.transcripts.messages(&session_id, None, wanted.messages).await?,
            // A client that wants to see them can still open the conversation.
            false => Vec::new(),
        };
        let shorten = |message| Message::new(message, Rendering::Source).shortened(MAX_TEXT);
        let messages: Vec<Message> = messages.into_iter().map(shorten).collect();
        bytes += serde_json::to_string(&messages).map_or(0, |json| json.len());
        let busy = chat.assistant.is_busy(&session_id);
        all.push(Watched { session_id, title, channel, busy, messages });
    }
    Ok(all)
}
