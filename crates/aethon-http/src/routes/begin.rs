//! `POST /api/sessions`: a conversation that has settings before anything was said in it.

use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, unique};
use aethon_core::import::NewSession;
use aethon_core::version::Expected;
use http::StatusCode;

use super::sessions::{no_such_session, read_settings};
use crate::deps::{Activity, Chat, Knowledge};
use crate::error::Problem;
use crate::fields::Fields;
use crate::json::Listed;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// `POST /api/sessions {name?, title?, model?, effort?, instructions?, pinned?, archived?, folder?}`.
pub(super) async fn begin(
    (chat, knowledge, activity): (Chat, Knowledge, Activity),
    mut request: Request,
) -> HandlerResult {
    let mut fields = Fields::parse(&request.read().await?)?;
    let name = fields.optional_text("name")?.unwrap_or_else(|| format!("new-{}", &unique()[20..]));
    let id = SessionId::of("webchat", &name).map_err(|error| Problem::invalid("name", error.to_string()))?;
    let settings = read_settings(fields)?;
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
