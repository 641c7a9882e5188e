//! `/api/scheduler`: scheduled jobs and their runs.

use aethon_core::schedule::{FieldFault, JobRecord, JobRefusal, JobRequest, Origin, RunRecord, Schedule};
use aethon_core::version::Expected;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::{Chat, Workflows};
use crate::error::Problem;
use crate::fields::Fields;
use crate::json::{Jobs, ListedJob};
use crate::precondition::{self, Present};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::{self, Limit};

/// How often a change without an expectation is tried again while others change the job.
const ATTEMPTS: usize = 8;

/// The runs of a job, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobRuns")]
pub(super) struct Runs {
    runs: Vec<RunRecord>,
}

/// Which jobs are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<200, 1000>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Which runs are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct RunListing {
    limit: Limit<50, 200>,
}

/// Whether a job runs at its times.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "JobSwitch")]
pub(super) struct Switch {
    /// False pauses it.
    enabled: bool,
}

/// `GET /api/scheduler?limit&cursor`, and `/api/scheduler/jobs`: by name.
pub(super) async fn list(workflows: Workflows, request: Request) -> HandlerResult {
    let Listing { limit, cursor: after } = request.queried()?;
    let mut jobs = workflows.schedule.jobs().await.map_err(refused)?;
    jobs.sort_by(|one, other| one.job.job_id.as_str().cmp(other.job.job_id.as_str()));
    response::json(&Jobs::page(workflows.schedule.is_enabled(), &jobs, after.as_deref(), limit.get()))
}

/// `POST /api/scheduler/jobs`.
pub(super) async fn add((workflows, chat): (Workflows, Chat), mut request: Request) -> HandlerResult {
    let wanted: JobRequest = request.sent().await?;
    check_model(&chat, &wanted).await?;
    let record = workflows.schedule.add(wanted, Origin::Owner).await.map_err(refused)?;
    Ok(precondition::tagged(response::created(&ListedJob::of(&record))?, &record.job.version()))
}

/// `PUT /api/scheduler/jobs/{id}`: fields left out stay, and null empties one.
pub(super) async fn change((workflows, chat): (Workflows, Chat), mut request: Request) -> HandlerResult {
    let fields = typed::fields_as::<JobRequest>(&request.read().await?)?;
    let (id, expected) = (id(&request), precondition::expected(&request.head.headers));
    let schedule = &*workflows.schedule;
    for _ in 0..ATTEMPTS {
        let found = find(schedule, &id).await?;
        let Some(present) = found else {
            let gone = expected.check(|| None).map_or_else(JobRefusal::Failed, |()| JobRefusal::unknown(&id));
            return Err(changed_or(schedule, &id, gone).await);
        };
        let seen = present.job.version();
        let wanted = overlaid(JobRequest::of(&present.job), &mut fields.clone())?;
        check_model(&chat, &wanted).await?;
        // What was read here fills the gaps, so it must still be true when it is written.
        let refusal = match expected.check(|| Some(seen.clone())) {
            Err(error) => JobRefusal::Failed(error),
            Ok(()) => match schedule.change(wanted, Expected::OneOf(vec![seen])).await {
                Ok(record) => return precondition::json(&ListedJob::of(&record), &record.job.version()),
                Err(refusal) => refusal,
            },
        };
        let is_outrun = matches!(&refusal, JobRefusal::Failed(error) if error.is_changed_elsewhere());
        if !is_outrun || !expected.is_anything() {
            return Err(changed_or(schedule, &id, refusal).await);
        }
    }
    let refusal = JobRefusal::Failed(aethon_core::error::Error::changed_elsewhere());
    Err(changed_or(schedule, &id, refusal).await)
}

/// What a job would be with these fields.
fn overlaid(mut wanted: JobRequest, fields: &mut Fields) -> Result<JobRequest, Problem> {
    if fields.text("job_id")?.is_some_and(|id| Some(id) != wanted.job_id) {
        return Err(Problem::invalid("job_id", "cannot be changed; remove the job and add another"));
    }
    let (cron, run_at) = (fields.nullable_text("cron")?, fields.nullable_text("run_at")?);
    if cron.is_some() || run_at.is_some() {
        // One takes the place of the other, whose usual treatment of missed runs is another.
        if cron.iter().flatten().next().is_some() != wanted.cron.is_some() {
            wanted.missed = None;
        }
        (wanted.cron, wanted.run_at) = match (cron, run_at) {
            (Some(cron), None) => (cron, None),
            (None, Some(run_at)) => (None, run_at),
            (cron, run_at) => (cron.flatten(), run_at.flatten()),
        };
    }
    let mut take = |name, place: &mut Option<String>| -> Result<(), Problem> {
        if let Some(given) = fields.nullable_text(name)? {
            *place = given;
        }
        Ok(())
    };
    take("sop_name", &mut wanted.sop_name)?;
    take("prompt", &mut wanted.prompt)?;
    take("channel", &mut wanted.channel)?;
    take("recipient", &mut wanted.recipient)?;
    take("timezone", &mut wanted.timezone)?;
    take("missed", &mut wanted.missed)?;
    take("model", &mut wanted.model)?;
    if let Some(retries) = fields.whole_number("retries")? {
        wanted.retries = Some(retries);
    }
    Ok(wanted)
}

async fn check_model(chat: &Chat, wanted: &JobRequest) -> Result<(), Problem> {
    let Some(model) = wanted.model.as_deref().map(str::trim).filter(|model| !model.is_empty()) else {
        return Ok(());
    };
    let checked = chat.choices.check(model).await;
    checked.map(|_| ()).map_err(|error| Problem::invalid("model", error.to_string()))
}

/// `GET /api/scheduler/jobs/{id}`.
pub(super) async fn show(workflows: Workflows, request: Request) -> HandlerResult {
    let id = id(&request);
    let record = find(&*workflows.schedule, &id).await?.ok_or_else(|| refused(JobRefusal::unknown(&id)))?;
    precondition::json(&ListedJob::of(&record), &record.job.version())
}

/// `DELETE /api/scheduler/jobs/{id}`.
pub(super) async fn remove(workflows: Workflows, request: Request) -> HandlerResult {
    let (id, expected) = (id(&request), precondition::expected(&request.head.headers));
    match workflows.schedule.remove(&id, expected).await {
        Ok(()) => Ok(response::no_content()),
        Err(refusal) => Err(changed_or(&*workflows.schedule, &id, refusal).await),
    }
}

/// `PATCH /api/scheduler/jobs/{id} {enabled}`: pauses or resumes a job.
pub(super) async fn pause(workflows: Workflows, mut request: Request) -> HandlerResult {
    let Switch { enabled } = request.sent().await?;
    let (id, expected) = (id(&request), precondition::expected(&request.head.headers));
    match workflows.schedule.set_paused(&id, !enabled, expected).await {
        Ok(record) => precondition::json(&ListedJob::of(&record), &record.job.version()),
        Err(refusal) => Err(changed_or(&*workflows.schedule, &id, refusal).await),
    }
}

/// `POST /api/scheduler/jobs/{id}/run`: runs the job now, in addition to its schedule. The run exists when this
/// returns.
pub(super) async fn run(workflows: Workflows, request: Request) -> HandlerResult {
    response::created(&workflows.schedule.run(&id(&request)).await.map_err(refused)?)
}

/// `GET /api/scheduler/jobs/{id}/runs?limit`: newest first.
pub(super) async fn runs(workflows: Workflows, request: Request) -> HandlerResult {
    let RunListing { limit } = request.queried()?;
    let runs = workflows.schedule.runs(&id(&request), limit.get()).await.map_err(refused)?;
    response::json(&Runs { runs })
}

fn id(request: &Request) -> String {
    request.params.get("id").unwrap_or_default()
}

async fn find(schedule: &dyn Schedule, id: &str) -> Result<Option<JobRecord>, Problem> {
    let jobs = schedule.jobs().await.map_err(refused)?;
    Ok(jobs.into_iter().find(|record| record.job.job_id.as_str() == id))
}

/// Refuses a change of a job; with its current state, if that is the reason.
async fn changed_or(schedule: &dyn Schedule, id: &str, refusal: JobRefusal) -> Problem {
    match refusal {
        JobRefusal::Failed(error) if error.is_changed_elsewhere() => match find(schedule, id).await {
            Ok(present) => precondition::changed_elsewhere(
                present.and_then(|record| Present::new(&ListedJob::of(&record), record.job.version())),
            ),
            Err(problem) => problem,
        },
        refusal => refused(refusal),
    }
}

fn refused(refusal: JobRefusal) -> Problem {
    match refusal {
        JobRefusal::Fields(faults) => {
            let told = |FieldFault { field, message }: FieldFault| (field, message);
            Problem::invalid_fields(faults.into_iter().map(told))
        }
        JobRefusal::Conflict(sentence) => Problem::new(StatusCode::CONFLICT, "job_conflict", sentence),
        JobRefusal::Unknown(_) => Problem::not_found(refusal.to_string()).with_code("unknown_job"),
        JobRefusal::Failed(error) => Problem::from(error),
    }
}
