//! `/api/sessions`: conversations. Listing and changing them here, one with its messages in `detail`, files in `export`.

use std::sync::Arc;

use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::session::{Clear, SessionQuery, SessionSummary};
use serde::Serialize;

use crate::app::App;
use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::response::{self, Answer};

pub(crate) mod detail;
pub(crate) mod export;
mod wire;

/// The longest title, in characters.
const MAX_TITLE: usize = 200;

#[derive(Serialize)]
struct Page {
    sessions: Vec<Listed>,
    count: u64,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    summary: SessionSummary,
    busy: bool,
}

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

/// `GET /api/sessions?limit&cursor&q&channel`: most recently used first.
pub(crate) async fn list(app: Arc<App>, request: Request) -> Answer {
    let has_cursor = request.query("cursor");
    let query = SessionQuery {
        limit: request.number("limit", 50, 1..=500)?,
        cursor: has_cursor.clone(),
        search: request.query("q"),
        channel: request.query("channel"),
    };
    let page = app.deps.transcripts.sessions(query).await.map_err(|error| {
        if error.is_invalid() && has_cursor.is_some() {
            return Problem::invalid("cursor", "is not one that this listing gave out");
        }
        Problem::from(error)
    })?;
    response::json(&Page {
        sessions: page.sessions.into_iter().map(|summary| listed(&app, summary)).collect(),
        count: page.count,
        next_cursor: page.next_cursor,
    })
}

/// `DELETE /api/sessions/{id}`: everything of it.
pub(crate) async fn delete(app: Arc<App>, request: Request) -> Answer {
    clear(&app, &request, Clear::Delete).await
}

/// `POST /api/sessions/{id}/reset`: its messages.
pub(crate) async fn reset(app: Arc<App>, request: Request) -> Answer {
    clear(&app, &request, Clear::Reset).await
}

/// `POST /api/sessions/{id}/stop`: what runs or waits in it ends; what was said so far is kept.
pub(crate) async fn stop(app: Arc<App>, request: Request) -> Answer {
    let id = session_id(&request)?;
    let stopped = app.deps.assistant.stop(&id, None).await;
    if stopped == 0 {
        // Nothing ran: then at least the session must exist.
        summary(&app, &id).await?;
    }
    response::json(&Stopped { status: "ok", session_id: &id, stopped })
}

/// `PATCH /api/sessions/{id} {title}`.
pub(crate) async fn rename(app: Arc<App>, mut request: Request) -> Answer {
    let id = session_id(&request)?;
    let body = request.read(&app.options.limits).await?;
    let title = Fields::parse(&body)?.required_text("title")?;
    let title = title.trim();
    if title.chars().count() > MAX_TITLE || title.chars().any(char::is_control) {
        return Err(Problem::invalid("title", "must be at most 200 characters, without line breaks"));
    }
    if !app.deps.transcripts.rename(&id, title).await? {
        return Err(no_such_session());
    }
    app.deps.bus.publish(|| Event::Session { session: id.clone(), change: SessionChange::Updated });
    let summary = summary(&app, &id).await?;
    response::json(&listed(&app, summary))
}

async fn clear(app: &App, request: &Request, how: Clear) -> Answer {
    let id = session_id(request)?;
    if !app.deps.assistant.clear(&id, how).await? {
        return Err(no_such_session());
    }
    response::json(&Done { status: "ok", session_id: &id })
}

fn listed(app: &App, summary: SessionSummary) -> Listed {
    Listed { busy: app.deps.assistant.is_busy(&summary.session_id), summary }
}

/// The session that the path names. One whose name cannot be a session's does not exist.
fn session_id(request: &Request) -> Result<SessionId, Problem> {
    request.params.get(0).and_then(|id| SessionId::parse(&id).ok()).ok_or_else(no_such_session)
}

async fn summary(app: &App, id: &SessionId) -> Result<SessionSummary, Problem> {
    app.deps.transcripts.session(id).await?.ok_or_else(no_such_session)
}

fn no_such_session() -> Problem {
    Problem::not_found("there is no such session")
}
