//! `/api/sessions/{id}/commands`: the commands that run on in the background of a conversation.

use aethon_core::background::{BY_OWNER, BackgroundCommand, StopOutcome};
use aethon_core::ids::SessionId;
use schemars::JsonSchema;
use serde::Serialize;

use super::sessions::{no_such_session, session_id};
use crate::deps::Chat;
use crate::error::Problem;
use crate::json::CommandList;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// A command that runs no more.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommandStopped")]
pub(super) struct Stopped<'a> {
    status: &'static str,
    session_id: &'a SessionId,
    /// Whether it ran until now.
    stopped: bool,
    command: BackgroundCommand,
}

/// `GET /api/sessions/{id}/commands`: those that run, and the last that have ended.
pub(super) async fn list(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let commands = CommandList::of(&*chat.commands, &id);
    if commands.is_empty() {
        chat.transcripts.session(&id).await?.ok_or_else(no_such_session)?;
    }
    response::json(&commands)
}

/// `POST /api/sessions/{id}/commands/{n}/stop`: ends one with everything that it has started.
pub(super) async fn stop(chat: Chat, request: Request) -> HandlerResult {
    let id = session_id(&request)?;
    let number = request.params.get("n").ok_or_else(|| {
        Problem::not_found(
            "the number of a command is a whole number, as `GET /api/sessions/{id}/commands` lists it",
        )
    })?;
    let (stopped, command) = match chat.commands.stop(&id, number, BY_OWNER).await {
        StopOutcome::Stopped(command) => (true, command),
        StopOutcome::HadEnded(command) => (false, command),
        StopOutcome::Missing(why) => return Err(Problem::not_found(why)),
    };
    response::json(&Stopped { status: "ok", session_id: &id, stopped, command })
}
