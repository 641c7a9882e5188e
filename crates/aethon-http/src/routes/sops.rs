//! `/api/sops`: which SOPs there are, and writing those of the workspace. `/api/sop-runs`: what was run of them.

use aethon_core::sop::{SopFault, SopName, SopRefusal, SopRun};
use http::StatusCode;
use serde::Serialize;

use crate::deps::Workflows;
use crate::error::Problem;
use crate::fields::Fields;
use crate::json::{ListedSop, Sops};
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Runs {
    count: usize,
    runs: Vec<SopRun>,
}

#[derive(Serialize)]
struct Resumed<'a> {
    status: &'static str,
    run_id: &'a str,
    turn: String,
}

/// `GET /api/sops`: by name.
pub(super) async fn list(workflows: Workflows, _request: Request) -> HandlerResult {
    let (sops, broken) = (workflows.sops.sops().await?, workflows.sops.broken().await?);
    response::json(&Sops::of(sops.iter().map(|sop| &**sop), &broken))
}

/// `GET /api/sops/{name}`: with its text, also as HTML.
pub(super) async fn show(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request)?;
    let sop = workflows.sops.sop(&name).await?.ok_or_else(|| unknown(name.as_str()))?;
    response::json(&ListedSop::of(&sop, true).rendered())
}

/// `PUT /api/sops/{name} {content}`: a file of the workspace.
pub(super) async fn save(workflows: Workflows, mut request: Request) -> HandlerResult {
    let name = valid_name(&request)?;
    let content = Fields::parse(&request.read().await?)?.required_text("content")?;
    let sop = workflows.sops.save(&name, &content).await.map_err(refused)?;
    tracing::info!(sop = %name, address = %request.client.address, "a SOP was written");
    response::json(&ListedSop::of(&sop, true).rendered())
}

/// `DELETE /api/sops/{name}`: a file of the workspace; one that is built in stays.
pub(super) async fn remove(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request)?;
    workflows.sops.remove(&name).await.map_err(refused)?;
    tracing::info!(sop = %name, address = %request.client.address, "a SOP was removed");
    Ok(response::no_content())
}

/// `GET /api/sop-runs?limit`: newest first.
pub(super) async fn runs(workflows: Workflows, request: Request) -> HandlerResult {
    let limit = request.number("limit", 50, 1..=500)?;
    let runs = workflows.sop_runs.runs(None, limit).await?;
    response::json(&Runs { count: runs.len(), runs })
}

/// `POST /api/sop-runs/{id}/resume`: goes on with a run that has lost its turn.
pub(super) async fn resume(workflows: Workflows, request: Request) -> HandlerResult {
    let run_id = request.params.get::<String>("id").unwrap_or_default();
    let turn = workflows.sop_runner.resume(&run_id).await.map_err(|error| {
        if error.is_invalid() {
            return Problem::new(StatusCode::CONFLICT, "not_resumable", error.to_string());
        }
        Problem::from(error)
    })?;
    response::json(&Resumed { status: "ok", run_id: &run_id, turn: turn.to_string() })
}

fn name(request: &Request) -> Result<SopName, Problem> {
    let name = request.params.get::<String>("name").unwrap_or_default();
    SopName::parse(&name).map_err(|_| unknown(&name))
}

/// The name of one that is to be made.
fn valid_name(request: &Request) -> Result<SopName, Problem> {
    let name = request.params.get::<String>("name").unwrap_or_default();
    SopName::parse(&name)
        .map_err(|_| Problem::invalid("name", "must be 1 to 64 lower-case letters, digits and hyphens"))
}

fn unknown(name: &str) -> Problem {
    let name: String = name.chars().take(80).collect();
    Problem::not_found(format!("there is no SOP named {name}")).with_code("unknown_sop")
}

fn refused(refusal: SopRefusal) -> Problem {
    match refusal {
        SopRefusal::Faults(faults) => {
            let told = |SopFault { line, message }: SopFault| ("content", format!("line {line}: {message}"));
            Problem::invalid_fields(faults.into_iter().map(told))
        }
        SopRefusal::Secret(_) => {
            Problem::invalid("content", refusal.to_string()).with_code("secret_detected")
        }
        SopRefusal::BuiltIn(_) => Problem::new(StatusCode::CONFLICT, "builtin_sop", refusal.to_string()),
        SopRefusal::Unknown(name) => unknown(name.as_str()),
        SopRefusal::Failed(error) => Problem::from(error),
    }
}
