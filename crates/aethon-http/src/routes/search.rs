//! `/api/search`: messages in all conversations that contain some words.

use aethon_core::history::MessageQuery;
use aethon_core::ids::SessionId;

use crate::deps::Chat;
use crate::error::Problem;
use crate::json;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// `GET /api/search?q&limit&cursor&session`: newest first. The cursor is the id of the last message of the page before.
pub(super) async fn search(chat: Chat, request: Request) -> HandlerResult {
    let words = request.query("q").filter(|words| !words.trim().is_empty());
    let words = words.ok_or_else(|| Problem::invalid("q", "is required: the words to look for"))?;
    let before = request.message("cursor", "is not one that this search gave out")?;
    let session = match request.query("session") {
        None => None,
        Some(id) => Some(
            SessionId::parse(&id)
                .map_err(|_| Problem::invalid("session", "must be the id of a conversation"))?,
        ),
    };
    let limit = request.number("limit", 20, 1..=100)?;
    let query = MessageQuery { words, session, before, limit };
    response::json(&json::found_messages(&*chat.history, query).await?)
}
