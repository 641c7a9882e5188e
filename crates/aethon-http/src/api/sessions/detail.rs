//! `GET /api/sessions/{id}`: one conversation with its newest messages, and what the chat page needs to go on live from
//! there without losing or doubling anything.

use std::sync::Arc;

use aethon_core::ids::{MessageId, TurnId};
use aethon_core::session::{TurnPhase, TurnRecord};
use serde::Serialize;

use super::wire::{Rendering, Shown};
use super::{Listed, listed, session_id, summary};
use crate::app::App;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, Answer};

#[derive(Serialize)]
struct Detail {
    #[serde(flatten)]
    session: Listed,
    messages: Vec<Shown>,
    /// Whether there are older messages.
    has_more: bool,
    /// The last frame of the live sequence that the messages reflect.
    seq: u64,
    /// What was sent and is not answered yet.
    pending: Vec<Pending>,
}

#[derive(Serialize)]
struct Pending {
    turn: TurnId,
    text: String,
    state: TurnPhase,
}

/// `GET /api/sessions/{id}?limit&before`: messages oldest first, the newest ones or those before a message.
pub(crate) async fn show(app: Arc<App>, request: Request) -> Answer {
    let id = session_id(&request)?;
    let limit = request.number("limit", 100, 1..=1000)?;
    let before = match request.query("before") {
        None => None,
        Some(text) => Some(
            text.parse()
                .ok()
                .filter(|id| *id > 0)
                .map(MessageId)
                .ok_or_else(|| Problem::invalid("before", "must be the id of a message"))?,
        ),
    };
    let summary = summary(&app, &id).await?;
    // Before the messages are read: a frame that comes in between is then sent again, never lost.
    let seq = app.deps.hub.stored_seq(&id);
    let pending = app.deps.transcripts.pending(&id).await?;
    let mut messages = app.deps.transcripts.messages(&id, before, limit + 1).await?;
    let has_more = messages.len() > limit;
    if has_more {
        messages.remove(0);
    }
    let session = listed(&app, summary);
    let pending = pending.into_iter().map(Pending::from).collect();
    // Rendering a long transcript takes a while; the connections that share this thread should not wait for it.
    let render = move || {
        let messages = messages.into_iter().map(|message| Shown::new(message, Rendering::Html)).collect();
        response::json(&Detail { session, messages, has_more, seq, pending })
    };
    tokio::task::spawn_blocking(render).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a transcript could not be rendered");
        Err(Problem::internal())
    })
}

impl From<TurnRecord> for Pending {
    fn from(record: TurnRecord) -> Self {
        Self { turn: record.turn, text: record.inbound.text, state: record.phase }
    }
}
