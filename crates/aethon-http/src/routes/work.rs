//! `/api/work`: multi-turn work, and pausing it.

use aethon_core::ids::SessionId;
use aethon_core::work::{NewTask, Plan, Work, WorkCommand, WorkOrigin, WorkRefusal, WorkStatus};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::Workflows;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// The conversation that is notified of work by default.
const USUAL_SESSION: &str = "webchat:default";

/// Used in place of a name for all work.
const EVERYTHING: &str = "all";

/// Work that takes many turns, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WorkList")]
pub(super) struct Listed {
    #[serde(flatten)]
    status: WorkStatus,
    work: Vec<Work>,
}

/// Which work is listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<50, 500>,
}

/// A piece of work to plan.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewWork {
    /// What is wanted.
    #[schemars(length(min = 1))]
    goal: String,
    /// Its tasks, in the order of their numbers.
    #[serde(default)]
    tasks: Vec<NewTask>,
    /// The conversation that is told of it, `webchat:default` unless it says otherwise.
    session_id: Option<String>,
    /// When it begins: at once, or when the assistant has nothing else to do.
    when: Option<When>,
}

/// When work begins.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum When {
    Now,
    Idle,
}

/// What a command left: all work, or one piece.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WorkCommanded")]
pub(super) enum Commanded {
    /// All of it.
    Everything(WorkStatus),
    /// One piece.
    One(Box<Work>),
}

/// `GET /api/work?limit`: newest first.
pub(super) async fn list(workflows: Workflows, request: Request) -> HandlerResult {
    let Listing { limit } = request.queried()?;
    let (status, work) = (workflows.work.status().await?, workflows.work.works(false, limit.get()).await?);
    response::json(&Listed { status, work })
}

/// `POST /api/work {goal, tasks, session_id?, when?}`: creates a plan.
pub(super) async fn plan(workflows: Workflows, mut request: Request) -> HandlerResult {
    let NewWork { goal, tasks, session_id, when } = request.sent().await?;
    let session = session_id.filter(|id| !id.trim().is_empty());
    let session = SessionId::parse(session.as_deref().unwrap_or(USUAL_SESSION))
        .map_err(|error| Problem::invalid("session_id", error.to_string()))?;
    let origin = match when {
        None | Some(When::Now) => WorkOrigin::Person,
        Some(When::Idle) => WorkOrigin::Idle,
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
        return response::json(&Commanded::Everything(workflows.work.status().await?));
    }
    let work = workflows.work.command(&id(&request), command).await.map_err(refused)?;
    tracing::info!(
        work = work.work_id,
        command = command.as_str(),
        address = request.client.shown(),
        "a command for work"
    );
    response::json(&Commanded::One(Box::new(work)))
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
