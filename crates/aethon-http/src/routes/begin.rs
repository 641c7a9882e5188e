//! `POST /api/sessions/new`: a conversation that has settings before anything was said in it.

use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, unique};
use aethon_core::import::NewSession;
use aethon_core::session::SessionPatch;
use aethon_core::version::Expected;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::sessions::{checked_settings, no_such_session};
use crate::deps::{Activity, Chat, Knowledge};
use crate::error::Problem;
use crate::json::Listed;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// A new conversation.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "NewSession")]
pub(super) struct New {
    /// Its name; one is made up without it.
    name: Option<String>,
    /// Its title and settings.
    #[serde(flatten)]
    settings: SessionPatch,
}

/// `POST /api/sessions/new {name?, title?, model?, effort?, instructions?, pinned?, archived?, folder?}`.
pub(super) async fn begin(
    (chat, knowledge, activity): (Chat, Knowledge, Activity),
    mut request: Request,
) -> HandlerResult {
    let New { name, settings } = request.sent().await?;
    let name = name.filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| format!("new-{}", &unique()[20..]));
    let id = SessionId::of("webchat", &name).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let settings = checked_settings(settings)?;
    if let Some(Some(model)) = &settings.model {
        chat.choices.check(model).await.map_err(|error| Problem::invalid("model", error.to_string()))?;
    }
    let archive = knowledge.archive.as_ref().ok_or_else(|| {
        Problem::new(StatusCode::CONFLICT, "cannot_begin", "this program stores no conversations")
    })?;
    let new = NewSession {
        id: id.clone(),
        title: String::new(),
        sender: "webchat".to_owned(),
        messages: Vec::new(),
    };
    if !archive.sessions.import(new).await? {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "session_exists",
            "there is a conversation of this name; change that one",
        ));
    }
    if !settings.is_empty() {
        chat.transcripts.patch(&id, &settings, Expected::Anything).await?;
    }
    activity.bus.publish(|| Event::Session { session: id.clone(), change: SessionChange::Created });
    let summary = chat.transcripts.session(&id).await?.ok_or_else(no_such_session)?;
    response::created(&Listed::new(&chat, summary))
}
