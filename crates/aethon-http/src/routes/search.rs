//! `/api/search`: messages in all conversations that contain some words.

use aethon_core::history::MessageQuery;
use aethon_core::ids::SessionId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::deps::Chat;
use crate::error::Problem;
use crate::json;
use crate::request::{Request, message_id};
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// What is looked for.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Search {
    /// The words.
    #[schemars(length(min = 1))]
    q: String,
    #[serde(default)]
    limit: Limit<20, 100>,
    /// The `next_cursor` of the page before.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    cursor: Option<String>,
    /// Only in this conversation.
    session: Option<String>,
}

/// `GET /api/search?q&limit&cursor&session`: newest first. The cursor is the id of the last message of the page before.
pub(super) async fn search(chat: Chat, request: Request) -> HandlerResult {
    let Search { q: words, limit, cursor, session } = request.queried()?;
    let before = message_id("cursor", cursor, "is not one that this search gave out")?;
    let session = session.map(|id| SessionId::parse(&id)).transpose();
    let session = session.map_err(|_| Problem::invalid("session", "must be the id of a conversation"))?;
    let limit = limit.get();
    let query = MessageQuery { words, session, before, limit };
    response::json(&json::found_messages(&*chat.history, query).await?)
}
