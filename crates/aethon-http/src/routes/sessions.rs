//! `/api/sessions`: listing conversations, showing one with its messages, and changing them. `export` returns one as
//! a file.

use aethon_core::error::Error;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::order::{Order, SessionField};
use aethon_core::session::{Clear, Discard, SessionPatch, SessionQuery};
use aethon_core::version::Expected;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::{Activity, Chat};
use crate::error::Problem;
use crate::json::{self, Listed, Place, Shown};
use crate::order::{self, Sorting};
use crate::precondition::{self, Present};
use crate::request::{Request, message_id};
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// It was done.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionDone")]
pub(super) struct Done<'a> {
    pub(super) status: &'static str,
    pub(super) session_id: &'a SessionId,
}

/// Its turns were stopped.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionStopped")]
pub(super) struct Stopped<'a> {
    status: &'static str,
    session_id: &'a SessionId,
    stopped: usize,
}

/// Which conversations are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<50, 500>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only those that contain all of these words.
    q: Option<String>,
    /// Only those of this channel.
    channel: Option<String>,
    #[serde(flatten)]
    sorting: Sorting<SessionField>,
}

/// Which messages are shown: the newest ones, or those before, after or around one.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Window {
    limit: Limit<100, 1000>,
    /// Only those before this message.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    before: Option<String>,
    /// Only those after this message.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    after: Option<String>,
    /// This message with those before and after it.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    around: Option<String>,
    /// Whether a conversation that does not exist is 204 instead of 404.
    optional: bool,
}

/// How a conversation is deleted.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Deleting {
    /// Whether for good, without the bin.
    now: bool,
}

/// The version that is chosen.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SwitchRequest")]
pub(super) struct Version {
    /// Its turn.
    #[schemars(length(min = 1))]
    turn: String,
}

/// `GET /api/sessions?limit&cursor&q&channel&sort&order`: most recently used first, unless another order is wanted.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let Listing { limit, cursor, q, channel, sorting } = request.queried()?;
    let query = SessionQuery::newest(limit.get())
        .from_cursor(cursor.clone())
        .with_search(q)
        .of_channel(channel)
        .in_order(Some(sorting.or(Order::descending(SessionField::Updated))));
    let page = json::list(&chat, query).await;
    response::json(&page.map_err(|error| order::about_cursor(error, cursor.as_deref()))?)
}

/// `GET /api/sessions/{id}?limit&before&after&around&optional`: messages oldest first, either the newest ones or those before,
/// after or around a message. With `optional=true`, a missing session is 204 instead of 404, because browsers log a 404 as an error,
/// and a page may well ask for a conversation that has no messages yet.
pub(super) async fn show(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let window: Window = request.queried()?;
    let (limit, is_optional) = (window.limit.get(), window.optional);
    match json::show(&chat, &id, place(window)?, limit).await? {
        Shown::Conversation(session) => precondition::json(&session, &session.session.summary.version()),
        Shown::NoMessage => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "no_such_message",
            "the conversation has no such message any more",
        )),
        Shown::NoSession if is_optional => Ok(response::no_content()),
        Shown::NoSession => Err(no_such_session()),
    }
}

/// Which messages the request asks for.
fn place(Window { before, after, around, .. }: Window) -> Result<Place, Problem> {
    let message = |name, given| message_id(name, given, "must be the id of a message");
    match (message("before", before)?, message("after", after)?, message("around", around)?) {
        (None, None, None) => Ok(Place::End),
        (Some(before), None, None) => Ok(Place::Before(before)),
        (None, Some(after), None) => Ok(Place::After(after)),
        (None, None, Some(message)) => Ok(Place::Around(message)),
        _ => Err(Problem::invalid(
            "around",
            "cannot be combined with before or after, nor those with each other",
        )),
    }
}

/// `DELETE /api/sessions/{id}?now`: removes the whole session. It goes to the bin; with `now=true`, or without a bin, it is deleted
/// for good, together with what had its id and lies in the bin.
pub(super) async fn delete(chat: Chat, request: Request) -> HandlerResult {
    let Deleting { now: is_final } = request.queried()?;
    let how = match precondition::expected(&request.head.headers) {
        expected if !is_final && chat.bin_days > 0 => Clear::Bin(expected),
        Expected::Anything => Clear::Delete,
        expected => Clear::DeleteIf(expected),
    };
    if is_final && let Some(id) = request.params.get("id") {
        let is_binned = chat.transcripts.discard(Discard::Named(id)).await? > 0;
        if is_binned && matches!(how, Clear::Delete) {
            return clear_if_there(&chat, &request, how).await;
        }
    }
    clear(&chat, &request, how).await
}

/// Deletes a session whose id others in the bin had, which were deleted: it need not exist.
async fn clear_if_there(chat: &Chat, request: &Request, how: Clear) -> HandlerResult {
    let id = session_id(request)?;
    chat.assistant.clear(&id, how).await?;
    tracing::info!(session = %id, address = request.client.shown(), "a session was deleted for good");
    response::json(&Done { status: "ok", session_id: &id })
}

/// `POST /api/sessions/{id}/reset`: removes its messages.
pub(super) async fn reset(chat: Chat, request: Request) -> HandlerResult {
    clear(&chat, &request, Clear::Reset).await
}

/// `POST /api/sessions/{id}/stop`: ends running and queued turns. The text so far is kept.
pub(super) async fn stop(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let stopped = chat.assistant.stop(&id, None).await;
    if stopped == 0 {
        // Nothing ran, so check that the session exists at all.
        chat.transcripts.session(&id).await?.ok_or_else(no_such_session)?;
    }
    response::json(&Stopped { status: "ok", session_id: &id, stopped })
}

/// `POST /api/sessions/{id}/switch {turn}`: makes the branch of another version of an answer or a question the live one.
pub(super) async fn switch((chat, activity): (Chat, Activity), mut request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let Version { turn } = request.sent().await?;
    let turn = TurnId::existing(&turn);
    chat.transcripts.session(&id).await?.ok_or_else(no_such_session)?;
    chat.history.switch(&id, &turn).await.map_err(|error| match error {
        error if error.is_crowded() && !error.is_no_room() => {
            Problem::new(StatusCode::CONFLICT, "turn_running", error.to_string())
        }
        error if error.is_not_found() => {
            Problem::new(StatusCode::NOT_FOUND, "no_such_turn", error.to_string())
        }
        error => error.into(),
    })?;
    chat.hub.switched(&id, &turn);
    activity.bus.publish(|| Event::Session { session: id.clone(), change: SessionChange::Updated });
    response::json(&Done { status: "ok", session_id: &id })
}

/// `PATCH /api/sessions/{id} {title?, model?, effort?, instructions?, pinned?, archived?, folder?}`: fields that are left
/// out stay, and null unsets one.
pub(super) async fn patch((chat, activity): (Chat, Activity), mut request: Request) -> HandlerResult {
    let id = session_id(&request).map_err(|unknown| precondition::missing(&request, unknown))?;
    let patch = checked(request.sent().await?)?;
    if let Some(Some(model)) = &patch.model {
        chat.choices.check(model).await.map_err(|error| Problem::invalid("model", error.to_string()))?;
    }
    let expected = precondition::expected(&request.head.headers);
    match chat.transcripts.patch(&id, &patch, expected).await {
        Ok(true) => {}
        Ok(false) => return Err(no_such_session()),
        Err(error) => return Err(changed_or(&chat, &id, error).await),
    }
    activity.bus.publish(|| Event::Session { session: id.clone(), change: SessionChange::Updated });
    let summary = chat.transcripts.session(&id).await?.ok_or_else(no_such_session)?;
    let version = summary.version();
    precondition::json(&Listed::new(&chat, summary), &version)
}

fn checked(patch: SessionPatch) -> Result<SessionPatch, Problem> {
    if patch.is_empty() {
        return Err(Problem::invalid("title", "is required, or another setting to change"));
    }
    checked_settings(patch)
}

/// Checks the settings of a session, all of which may be left out.
pub(super) fn checked_settings(patch: SessionPatch) -> Result<SessionPatch, Problem> {
    patch.checked().map_err(|(field, why)| Problem::invalid(field, why))
}

/// Refuses a change of a session; with its current state, without its messages, if that is the reason.
async fn changed_or(chat: &Chat, id: &SessionId, error: Error) -> Problem {
    if !error.is_changed_elsewhere() {
        return error.into();
    }
    match chat.transcripts.session(id).await {
        Ok(present) => precondition::changed_elsewhere(present.and_then(|summary| {
            let version = summary.version();
            Present::new(&Listed::new(chat, summary), version)
        })),
        Err(error) => error.into(),
    }
}

async fn clear(chat: &Chat, request: &Request, how: Clear) -> HandlerResult {
    let id = session_id(request).map_err(|unknown| match how.is_delete() {
        true => precondition::missing(request, unknown),
        false => unknown,
    })?;
    let what = if how.is_delete() { "deleted" } else { "reset" };
    match chat.assistant.clear(&id, how).await {
        Ok(true) => {}
        Ok(false) => return Err(no_such_session()),
        Err(error) => return Err(changed_or(chat, &id, error).await),
    }
    if id.is_temporary() {
        // Frames that are kept for those who come back have its words, too.
        chat.hub.forget(&id);
    }
    tracing::info!(session = %id, address = request.client.shown(), "a session was {what}");
    response::json(&Done { status: "ok", session_id: &id })
}

/// Returns the session that the path names. An invalid name is 404.
pub(super) fn session_id(request: &Request) -> Result<SessionId, Problem> {
    request.params.get("id").ok_or_else(no_such_session)
}

/// Returns 404 for a missing session.
pub(super) fn no_such_session() -> Problem {
    Problem::not_found("there is no such session")
}
