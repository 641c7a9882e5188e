//! `/api/sessions/bin`: conversations that were deleted and can come back.

use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::session::{BinId, BinQuery, Binned, Discard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::{Done, session_id};
use crate::deps::{Activity, Chat};
use crate::error::Problem;
use crate::json;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// The bin was emptied.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BinEmptied")]
pub(super) struct Emptied {
    status: &'static str,
    /// How many conversations were deleted.
    removed: u64,
}

/// Which conversations are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<50, 500>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// `GET /api/sessions/bin?limit&cursor`: last deleted first.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let Listing { limit, cursor } = request.queried()?;
    let limit = limit.get();
    let before = cursor.map(|cursor| json::bin_cursor(&cursor)).transpose();
    let before = before.map_err(|_| Problem::invalid("cursor", "is not one that this listing gave out"))?;
    response::json(&json::bin(&chat, BinQuery { limit, before }).await?)
}

/// `DELETE /api/sessions/bin`: deletes everything in it for good.
pub(super) async fn empty(chat: Chat, request: Request) -> HandlerResult {
    let removed = chat.transcripts.discard(Discard::All).await?;
    tracing::info!(removed, address = request.client.shown(), "the bin was emptied");
    response::json(&Emptied { status: "ok", removed })
}

/// `DELETE /api/sessions/bin/{bin_id}`: deletes one for good.
pub(super) async fn remove(chat: Chat, request: Request) -> HandlerResult {
    let place = place(&request)?;
    if chat.transcripts.discard(Discard::One(place)).await? == 0 {
        return Err(not_in_bin());
    }
    tracing::info!(place = place.0, address = request.client.shown(), "a session was deleted from the bin");
    Ok(response::no_content())
}

/// `POST /api/sessions/bin/{bin_id}/restore`.
pub(super) async fn restore((chat, activity): (Chat, Activity), request: Request) -> HandlerResult {
    take_out(&chat, &activity, Binned::Place(place(&request)?)).await
}

/// `POST /api/sessions/{id}/restore`: the last deleted one that had this id.
pub(super) async fn restore_last((chat, activity): (Chat, Activity), request: Request) -> HandlerResult {
    take_out(&chat, &activity, Binned::Last(session_id(&request)?)).await
}

async fn take_out(chat: &Chat, activity: &Activity, which: Binned) -> HandlerResult {
    let id: SessionId = chat.transcripts.restore(which).await?.ok_or_else(not_in_bin)?;
    tracing::info!(session = %id, "a session was taken out of the bin");
    activity.bus.publish(|| Event::Session { session: id.clone(), change: SessionChange::Created });
    response::json(&Done { status: "ok", session_id: &id })
}

fn place(request: &Request) -> Result<BinId, Problem> {
    let place: Option<String> = request.params.get("bin_id");
    place.and_then(|place| place.parse().ok()).map(BinId).ok_or_else(not_in_bin)
}

fn not_in_bin() -> Problem {
    Problem::not_found("there is no such session in the bin")
}
