//! `/api/work`: multi-turn work, and pausing it.

use aethon_core::ids::SessionId;
use aethon_core::work::{NewTask, Plan, Work, WorkCommand, WorkOrigin, WorkRefusal, WorkStatus};
use http::StatusCode;
use serde::Serialize;

use crate::deps::Workflows;
use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The conversation that is notified of work by default.
const USUAL_SESSION: &str = "webchat:default";

/// Used in place of a name for all work.
const EVERYTHING: &str = "all";

#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    status: WorkStatus,
    work: Vec<Work>,
}

/// `GET /api/work?limit`: newest first.
pub(super) async fn list(workflows: Workflows, request: Request) -> HandlerResult {
    let limit = request.number("limit", 50, 1..=500)?;
    let (status, work) = (workflows.work.status().await?, workflows.work.works(false, limit).await?);
    response::json(&Listed { status, work })
}

/// `POST /api/work {goal, tasks, session_id?, when?}`: creates a plan.
pub(super) async fn plan(workflows: Workflows, mut request: Request) -> HandlerResult {
    let mut fields = Fields::parse(&request.read().await?)?;
    let goal = fields.required_text("goal")?;
    let tasks = fields.value("tasks").unwrap_or_default();
    let tasks: Vec<NewTask> =
        serde_json::from_value(tasks).map_err(|error| Problem::invalid("tasks", error.to_string()))?;
    let session = fields.optional_text("session_id")?;
    let session = SessionId::parse(session.as_deref().unwrap_or(USUAL_SESSION))
        .map_err(|error| Problem::invalid("session_id", error.to_string()))?;
    let origin = match fields.optional_text("when")?.as_deref() {
        None | Some("now") => WorkOrigin::Person,
        Some("idle") => WorkOrigin::Idle,
        Some(_) => return Err(Problem::invalid("when", "now or idle")),
    };
    let plan = Plan { goal, tasks };
    response::created(&workflows.work.plan(session.into(), plan, origin).await.map_err(refused)?)
}

/// `GET /api/work/{id}`.
pub(super) async fn show(workflows: Workflows, request: Request) -> HandlerResult {
    let id = id(&request);
    let work = workflows.work.work(&id).await.map_err(refused)?;
    response::json(&work.ok_or_else(|| refused(WorkRefusal::Unknown(id)))?)
}

/// `POST /api/work/{id}/cancel`.
pub(super) async fn cancel(workflows: Workflows, request: Request) -> HandlerResult {
    command(workflows, request, WorkCommand::Stop).await
}

/// `POST /api/work/{id}/pause`; `all` pauses everything.
pub(super) async fn pause(workflows: Workflows, request: Request) -> HandlerResult {
    command(workflows, request, WorkCommand::Pause).await
}

/// `POST /api/work/{id}/resume`; `all` resumes everything that was not paused individually.
pub(super) async fn resume(workflows: Workflows, request: Request) -> HandlerResult {
    command(workflows, request, WorkCommand::Resume).await
}

async fn command(workflows: Workflows, request: Request, command: WorkCommand) -> HandlerResult {
    let paused = command == WorkCommand::Pause;
    if id(&request) == EVERYTHING && command != WorkCommand::Stop {
        workflows.work.pause(paused).await?;
        tracing::info!(paused, address = request.client.shown(), "work was paused or let go on");
        return response::json(&workflows.work.status().await?);
    }
    let work = workflows.work.command(&id(&request), command).await.map_err(refused)?;
    tracing::info!(
        work = work.work_id,
        command = command.as_str(),
        address = request.client.shown(),
        "a command for work"
    );
    response::json(&work)
}

fn id(request: &Request) -> String {
    request.params.get("id").unwrap_or_default()
}

fn refused(refusal: WorkRefusal) -> Problem {
    match refusal {
        WorkRefusal::Plan(fault) => Problem::invalid("tasks", fault.to_string()),
        WorkRefusal::Unknown(_) => Problem::not_found(refusal.to_string()).with_code("unknown_work"),
        WorkRefusal::Conflict(sentence) => Problem::new(StatusCode::CONFLICT, "work_conflict", sentence),
        WorkRefusal::Failed(error) => Problem::from(error),
    }
}
