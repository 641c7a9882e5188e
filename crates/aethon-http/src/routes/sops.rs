//! `/api/sops`: listing SOPs, and editing those of the workspace. `/api/sop-runs`: their runs.

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, unique};
use aethon_core::message::{Handling, Inbound};
use aethon_core::order::{Order, Place, SopRunField, SortValue};
use aethon_core::sop::{
    BrokenSop, Sop, SopCatalog, SopCheck, SopFault, SopName, SopRefusal, SopRun, SopRunState, SopVersion,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::deps::{Chat, Workflows};
use crate::error::Problem;
use crate::json::{LineFault, ListedSop, Sops};
use crate::order::{self, Sorting};
use crate::precondition::{self, Present};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// How many runs there are at most: a storage keeps no more.
const MAX_RUNS: usize = 2_000;

/// Runs of SOPs, newest first unless another order is wanted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SopRuns")]
pub(super) struct Runs {
    count: usize,
    runs: Vec<SopRun>,
    /// Where the next page begins, if there is one.
    next_cursor: Option<String>,
}

/// Earlier texts of a SOP, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SopVersions")]
pub(super) struct Versions {
    count: usize,
    versions: Vec<SopVersion>,
}

/// The run goes on.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SopResumed")]
pub(super) struct Resumed<'a> {
    status: &'static str,
    run_id: &'a str,
    turn: String,
}

/// What a text gets wrong, and what was not understood in it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SopChecked")]
pub(super) struct Checked {
    ok: bool,
    problems: Vec<LineFault<'static>>,
    remarks: Vec<LineFault<'static>>,
    /// The text as it is read.
    html: Vec<String>,
}

impl Checked {
    fn of(check: SopCheck, content: &str) -> Self {
        let places = |places: Vec<SopFault>| {
            places
                .into_iter()
                .map(|SopFault { line, message }| LineFault { line, message: message.into() })
                .collect()
        };
        Self {
            ok: check.faults.is_empty(),
            problems: places(check.faults),
            remarks: places(check.remarks),
            html: crate::markdown::blocks(content),
        }
    }
}

/// The run that was begun.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SopBegun")]
pub(super) struct Begun<'a> {
    status: &'static str,
    session_id: &'a str,
    turn: &'a str,
}

/// What of a SOP is shown.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Showing {
    /// Whether a file that is not a valid SOP is shown too, with its faults.
    invalid: bool,
}

/// The text of a SOP.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SopContent")]
pub(super) struct Text {
    content: String,
}

/// What a run begins with.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SopRunRequest")]
pub(super) struct Beginning {
    /// What the person says to it.
    text: Option<String>,
    /// Its parameters by name: texts, numbers or switches.
    arguments: Option<Map<String, Value>>,
    /// The session of the web chat, without `webchat:`; a new one unless it says otherwise.
    session: Option<String>,
}

/// Which runs are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct RunListing {
    limit: Limit<50, 500>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only those of this SOP.
    sop: Option<String>,
    /// Only those in this state.
    state: Option<SopRunState>,
    #[serde(flatten)]
    sorting: Sorting<SopRunField>,
}

/// `GET /api/sops`: by name.
pub(super) async fn list(workflows: Workflows, _request: Request) -> HandlerResult {
    let (sops, broken) = (workflows.sops.sops().await?, workflows.sops.broken().await?);
    response::json(&Sops::of(sops.iter().map(|sop| &**sop), &broken))
}

/// `GET /api/sops/{name}?invalid`: with its text, as source and HTML; if wanted, also what stands in an invalid file.
pub(super) async fn show(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request)?;
    let Showing { invalid } = request.queried()?;
    if invalid {
        let present = present(&*workflows.sops, &name).await?.ok_or_else(|| unknown(name.as_str()))?;
        return precondition::present(&present);
    }
    let sop = workflows.sops.sop(&name).await?.ok_or_else(|| unknown(name.as_str()))?;
    precondition::json(&ListedSop::of(&sop, true).rendered(), &sop.version())
}

/// `GET /api/sops/{name}/versions`: the earlier texts of a SOP of the workspace, newest first.
pub(super) async fn versions(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request)?;
    let versions = workflows.sops.versions(&name).await?;
    if versions.is_empty() && workflows.sops.sop(&name).await?.is_none() {
        return Err(unknown(name.as_str()));
    }
    response::json(&Versions { count: versions.len(), versions })
}

/// `PUT /api/sops/{name} {content}`: writes a file in the workspace.
pub(super) async fn save(workflows: Workflows, mut request: Request) -> HandlerResult {
    let name = valid_name(&request)?;
    let Text { content } = request.sent().await?;
    if content.trim().is_empty() {
        return Err(Problem::invalid("content", "must not be empty"));
    }
    let expected = precondition::expected_or_nothing(&request.head.headers);
    let sop = match workflows.sops.save(&name, &content, expected).await {
        Ok(sop) => sop,
        Err(refusal) => return Err(changed_or(&*workflows.sops, &name, refusal).await),
    };
    tracing::info!(sop = %name, address = request.client.shown(), "a SOP was written");
    precondition::json(&ListedSop::of(&sop, true).rendered(), &sop.version())
}

/// `DELETE /api/sops/{name}`: removes a file from the workspace. Built-in SOPs stay.
pub(super) async fn remove(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request).map_err(|unknown| precondition::missing(&request, unknown))?;
    let expected = precondition::expected(&request.head.headers);
    if let Err(refusal) = workflows.sops.remove(&name, expected).await {
        return Err(changed_or(&*workflows.sops, &name, refusal).await);
    }
    tracing::info!(sop = %name, address = request.client.shown(), "a SOP was removed");
    Ok(response::no_content())
}

/// `POST /api/sops/check {content}`: reports the errors in a text and what was not understood, line by line, and the text as
/// HTML. Writes nothing.
pub(super) async fn check(workflows: Workflows, mut request: Request) -> HandlerResult {
    let Text { content } = request.sent().await?;
    response::json(&Checked::of(workflows.sops.check(&content), &content))
}

/// `POST /api/sops/{name}/run {text?, arguments?, session?}`: starts a run in a web chat session, a new one by
/// default. The run exists when this returns, and continues on its own.
pub(super) async fn run((chat, workflows): (Chat, Workflows), mut request: Request) -> HandlerResult {
    let Beginning { text, arguments: given, session } = request.sent().await?;
    let name = name(&request)?;
    let sop = workflows.sops.sop(&name).await?.ok_or_else(|| unknown(name.as_str()))?;
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let text = filled(text).unwrap_or_default();
    let arguments = arguments(&sop, given.unwrap_or_default())?;
    let input = [arguments, text].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    let session = filled(session).unwrap_or_else(|| format!("{name}-{}", short_id()));
    let session = SessionId::of("webchat", &session)
        .map_err(|_| Problem::invalid("session", "must be a short name without control characters"))?;
    let shown = if input.is_empty() { format!("/{name}") } else { input };
    let inbound = Inbound::say(session.clone(), shown).from_sender("webchat").handled_by(Handling::sop(name));
    let submitted = chat.assistant.submit(inbound, chat.hub.surface(&session)).await;
    let submitted = submitted.map_err(|error| match error.is_invalid() {
        true => Problem::invalid("text", error.to_string()),
        false => Problem::from(error),
    })?;
    let mut answer = response::json(&Begun {
        status: "started",
        session_id: session.as_str(),
        turn: submitted.turn.as_str(),
    })?;
    *answer.status_mut() = StatusCode::ACCEPTED;
    Ok(answer)
}

/// Formats arguments as the first lines of a message.
fn arguments(sop: &Sop, given: Map<String, Value>) -> Result<String, Problem> {
    let mut lines = Vec::new();
    for (name, value) in &given {
        if sop.parameter(name).is_none() {
            let known: Vec<&str> = sop.parameters.iter().map(|known| known.name.as_str()).collect();
            let sentence = format!("{name:?} is no parameter of this SOP; it takes: {}", known.join(", "));
            return Err(Problem::invalid("arguments", sentence));
        }
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(Problem::invalid("arguments", format!("{name:?} must be a string"))),
        };
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace(['\r', '\n'], " ");
        lines.push(format!("{name}=\"{value}\""));
    }
    Ok(lines.join("\n"))
}

/// Returns a prefix of a unique id, long enough to tell sessions apart.
fn short_id() -> String {
    let id = unique();
    id[id.len().saturating_sub(8)..].to_owned()
}

/// `GET /api/sop-runs?limit&cursor&sop&state&sort&order`: newest first, unless another order is wanted.
pub(super) async fn runs(workflows: Workflows, request: Request) -> HandlerResult {
    let RunListing { limit, cursor, sop, state, sorting } = request.queried()?;
    let order = sorting.or(Order::descending(SopRunField::Started));
    let mut runs = workflows.sop_runs.runs(state, MAX_RUNS).await?;
    runs.retain(|run| sop.as_ref().is_none_or(|sop| run.sop_name.as_str() == sop));
    let page = order.page(runs, |run| place(run, order.by), cursor.as_deref(), limit.get());
    let page = page.map_err(|error| order::about_cursor(error, cursor.as_deref()))?;
    response::json(&Runs { count: page.count, runs: page.rows, next_cursor: page.next_cursor })
}

fn place(run: &SopRun, field: SopRunField) -> Place<String> {
    let value = match field {
        SopRunField::Started => SortValue::time(run.started_at),
        SopRunField::Updated => SortValue::time(run.updated_at),
        SopRunField::Sop => SortValue::text(run.sop_name.as_str()),
        SopRunField::State => SortValue::text(run.state.as_str()),
        SopRunField::StepsDone => SortValue::count(run.steps_done),
        SopRunField::Cost => SortValue::amount(run.cost_usd),
    };
    Place { value: Some(value), key: run.run_id.clone() }
}

/// `POST /api/sop-runs/{id}/resume`: resumes a run that lost its turn.
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

/// Returns the name of a SOP to be created.
fn valid_name(request: &Request) -> Result<SopName, Problem> {
    let name = request.params.get::<String>("name").unwrap_or_default();
    SopName::parse(&name)
        .map_err(|_| Problem::invalid("name", "must be 1 to 64 lower-case letters, digits and hyphens"))
}

fn unknown(name: &str) -> Problem {
    let name: String = name.chars().take(80).collect();
    Problem::not_found(format!("there is no SOP named {name}")).with_code("unknown_sop")
}

/// Refuses a change of a SOP; with its current state, if that is the reason.
async fn changed_or(sops: &dyn SopCatalog, name: &SopName, refusal: SopRefusal) -> Problem {
    match refusal {
        SopRefusal::Failed(error) if error.is_changed_elsewhere() => match present(sops, name).await {
            Ok(present) => precondition::changed_elsewhere(present),
            Err(error) => error.into(),
        },
        refusal => refused(refusal),
    }
}

/// Returns the text that a change of a SOP would replace: that of its file, valid or not, or of the built-in SOP
/// without a file.
async fn present(sops: &dyn SopCatalog, name: &SopName) -> Result<Option<Present>> {
    let draft = |broken: &BrokenSop| {
        let draft = broken.draft.as_ref().filter(|draft| draft.name == *name)?;
        Present::new(&ListedSop::of_draft(broken, draft).rendered(), draft.version())
    };
    if let Some(draft) = sops.broken().await?.iter().find_map(draft) {
        return Ok(Some(draft));
    }
    let sop = sops.sop(name).await?;
    Ok(sop.and_then(|sop| Present::new(&ListedSop::of(&sop, true).rendered(), sop.version())))
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
        SopRefusal::Folder(_) => Problem::new(StatusCode::CONFLICT, "sops_folder", refusal.to_string()),
        SopRefusal::File(_) => Problem::new(StatusCode::CONFLICT, "sop_file", refusal.to_string()),
        SopRefusal::Unknown(name) => unknown(name.as_str()),
        SopRefusal::Failed(error) => Problem::from(error),
    }
}
