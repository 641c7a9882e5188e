//! `/api/sessions`: listing conversations, showing one with its messages, and changing them. `export` returns one as
//! a file.

use aethon_core::error::Error;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::model::Effort;
use aethon_core::order::{Order, SessionField};
use aethon_core::session::{Clear, SessionPatch, SessionQuery};
use aethon_core::version::Expected;
use http::StatusCode;
use serde::Serialize;

use crate::deps::{Activity, Chat};
use crate::error::Problem;
use crate::fields::Fields;
use crate::json::{self, Listed, Place, Shown};
use crate::order;
use crate::precondition::{self, Present};
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Done<'a> {
    status: &'static str,
    session_id: &'a SessionId,
}

#[derive(Serialize)]
struct Stopped<'a> {
    status: &'static str,
    session_id: &'a SessionId,
    stopped: usize,
}

/// `GET /api/sessions?limit&cursor&q&channel&sort&order`: most recently used first, unless another order is wanted.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let cursor = request.query("cursor");
    let order = order::wanted(&request, Order::descending(SessionField::Updated))?;
    let query = SessionQuery::newest(request.number("limit", 50, 1..=500)?)
        .from_cursor(cursor.clone())
        .with_search(request.query("q"))
        .of_channel(request.query("channel"))
        .in_order(Some(order));
    let page = json::list(&chat, query).await;
    let page = page.map_err(|error| order::about_cursor(error, cursor.as_deref()))?;
    response::json(&page)
}

/// `GET /api/sessions/{id}?limit&before&after&around&optional`: messages oldest first, either the newest ones or those before,
/// after or around a message. With `optional=true`, a missing session is 204 instead of 404, because browsers log a 404 as an error,
/// and a page may well ask for a conversation that has no messages yet.
pub(super) async fn show(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let limit = request.number("limit", 100, 1..=1000)?;
    let place = place(&request)?;
    let is_optional = request.flag("optional")?;
    match json::show(&chat, &id, place, limit).await? {
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
fn place(request: &Request) -> Result<Place, Problem> {
    let message = |name| request.message(name, "must be the id of a message");
    match (message("before")?, message("after")?, message("around")?) {
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

/// `DELETE /api/sessions/{id}`: removes the whole session.
pub(super) async fn delete(chat: Chat, request: Request) -> HandlerResult {
    let how = match precondition::expected(&request.head.headers) {
        Expected::Anything => Clear::Delete,
        expected => Clear::DeleteIf(expected),
    };
    clear(&chat, &request, how).await
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
    let turn = TurnId::existing(&Fields::parse(&request.read().await?)?.required_text("turn")?);
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
    let patch = read_patch(Fields::parse(&request.read().await?)?)?;
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

fn read_patch(mut fields: Fields) -> Result<SessionPatch, Problem> {
    let mut patch = SessionPatch::default();
    patch.title = fields.text("title")?;
    patch.model = fields.nullable_text("model")?;
    patch.effort = match fields.nullable_text("effort")? {
        Some(Some(word)) => match Effort::parse(&word) {
            Some(effort) => Some(Some(effort)),
            None => return Err(Problem::invalid("effort", "must be none, low, medium, high or null")),
        },
        unset => unset.map(|_| None),
    };
    patch.instructions = fields.nullable_text("instructions")?;
    patch.pinned = fields.flag("pinned")?;
    patch.archived = fields.flag("archived")?;
    patch.folder = fields.nullable_text("folder")?;
    if patch.is_empty() {
        return Err(Problem::invalid("title", "is required, or another setting to change"));
    }
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
