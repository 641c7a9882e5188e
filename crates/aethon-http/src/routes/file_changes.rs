//! `/api/sessions/{id}/file-changes`: the files that tools have changed in a conversation, and putting them back.

use aethon_core::ids::{SessionId, TurnId};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::sessions::{no_such_session, session_id};
use crate::deps::Chat;
use crate::error::Problem;
use crate::json::{self, FilesAct, FilesRefusal};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// Which changes are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    /// Only those since the beginning of this turn.
    turn: Option<String>,
}

/// From where on changes are taken back.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "FileUndoRequest")]
pub(super) struct From {
    /// The turn whose changes, and all later ones, are taken back.
    #[schemars(length(min = 1))]
    turn: String,
}

/// `GET /api/sessions/{id}/file-changes?turn`: oldest first.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let turn = request.queried::<Listing>()?.turn.map(|turn| TurnId::existing(&turn));
    let list = json::file_changes(&chat, &id, turn.as_ref()).await?.map_err(problem)?;
    response::json(&list)
}

/// `POST /api/sessions/{id}/file-changes/undo {turn}`: puts the files back that were changed in this turn or later.
pub(super) async fn undo(chat: Chat, mut request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let From { turn } = request.sent().await?;
    act(&chat, &request, &id, FilesAct::Undo(&TurnId::existing(&turn))).await
}

/// `POST /api/sessions/{id}/file-changes/redo`: undoes the last of these.
pub(super) async fn redo(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    act(&chat, &request, &id, FilesAct::Redo).await
}

async fn act(chat: &Chat, request: &Request, id: &SessionId, act: FilesAct<'_>) -> HandlerResult {
    let done = json::put_files_back(chat, id, act).await?.map_err(problem)?;
    tracing::info!(session = %id, address = request.client.shown(), ?act, "files of a session were put back");
    response::json(&done)
}

fn problem(refusal: FilesRefusal) -> Problem {
    match refusal {
        FilesRefusal::NoSession => no_such_session(),
        FilesRefusal::NoTurn => Problem::new(StatusCode::NOT_FOUND, "no_such_turn", refusal.to_string()),
        FilesRefusal::TurnRunning => Problem::new(StatusCode::CONFLICT, "turn_running", refusal.to_string()),
    }
}
