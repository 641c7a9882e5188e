//! Scheduled jobs as documents, for the API, the dashboard's socket and the terminal.

use aethon_core::schedule::{Job, JobRecord, Missed, Origin, RunStatus, Timing};
use aethon_core::sop::SopName;
use aethon_core::turn::Trust;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// How many upcoming runs are listed.
const AHEAD: usize = 5;

/// A page of the jobs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "JobList")]
pub struct Jobs<'j> {
    /// Whether the scheduler runs jobs.
    pub enabled: bool,
    /// The jobs, by name.
    pub jobs: Vec<ListedJob<'j>>,
    /// How many there are on all pages.
    pub count: usize,
    /// Where the next page begins.
    pub next_cursor: Option<&'j str>,
}

impl<'j> Jobs<'j> {
    /// Lists all of these jobs in their order.
    pub fn of(enabled: bool, records: &'j [JobRecord]) -> Self {
        Self {
            enabled,
            jobs: records.iter().map(ListedJob::of).collect(),
            count: records.len(),
            next_cursor: None,
        }
    }

    /// Lists at most `limit` of these jobs, which are ordered by their names, from behind the name `after`.
    pub fn page(enabled: bool, records: &'j [JobRecord], after: Option<&str>, limit: usize) -> Self {
        let name = |record: &'j JobRecord| record.job.job_id.as_str();
        let start = after.map_or(0, |after| {
            records.iter().position(|record| name(record) > after).unwrap_or(records.len())
        });
        let (count, rest) = (records.len(), &records[start..]);
        let page = &rest[..limit.min(rest.len())];
        let next_cursor = page.last().filter(|_| page.len() < rest.len()).map(name);
        Self { enabled, jobs: page.iter().map(ListedJob::of).collect(), count, next_cursor }
    }
}

/// One job.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub struct ListedJob<'j> {
    job_id: &'j str,
    cron: Option<&'j str>,
    #[serde(serialize_with = "optional")]
    run_at: Option<Timestamp>,
    timezone: Option<&'j str>,
    sop_name: Option<&'j SopName>,
    prompt: Option<&'j str>,
    channel: &'j str,
    recipient: Option<&'j str>,
    missed: Missed,
    retries: u32,
    model: Option<&'j str>,
    origin: Origin,
    /// Who asked for it, if the owner's own words did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_by: Option<&'j str>,
    /// Whether its runs count as a stranger's.
    untrusted: bool,
    #[serde(flatten)]
    state: JobState<'j>,
}

/// The state of a job.
#[derive(Debug, Serialize, JsonSchema)]
struct JobState<'j> {
    enabled: bool,
    #[serde(serialize_with = "optional")]
    next_run: Option<Timestamp>,
    #[schemars(with = "Vec<Timestamp>")]
    next_runs: Vec<String>,
    #[serde(serialize_with = "optional")]
    last_run: Option<Timestamp>,
    last_status: Option<RunStatus>,
    last_error: Option<&'j str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'j str>,
}

impl<'j> ListedJob<'j> {
    /// Describes a job.
    pub fn of(record: &'j JobRecord) -> Self {
        let job = &record.job;
        let (cron, timezone, run_at) = match &job.timing {
            Timing::Cron { cron, timezone } => (Some(cron.as_str()), Some(timezone.as_str()), None),
            Timing::Once { run_at } => (None, None, Some(*run_at)),
        };
        let next_run = record.next_run.into_iter().chain(record.retry_at).min();
        Self {
            job_id: job.job_id.as_str(),
            cron,
            run_at,
            timezone,
            sop_name: job.task.sop_name.as_ref(),
            prompt: job.task.prompt.as_deref(),
            channel: &job.channel,
            recipient: job.recipient.as_deref(),
            missed: job.missed,
            retries: job.retries,
            model: job.model.as_deref(),
            origin: job.origin,
            made_by: made_by(job),
            untrusted: !job.trust().is_owner(),
            state: JobState {
                enabled: job.is_active(),
                next_run,
                next_runs: next_runs(record, next_run),
                last_run: record.last_run,
                last_status: record.last_status,
                last_error: record.last_error.as_deref(),
                warning: record.warning.as_deref(),
            },
        }
    }
}

/// Names who asked for a job, if the owner's own words did not.
fn made_by(job: &Job) -> Option<&str> {
    match job.trust() {
        Trust::Owner => None,
        Trust::Outside => Some("outside"),
        Trust::Guest => Some(job.person.as_str()),
    }
}

/// Returns the next runs of an enabled job, as currently planned.
fn next_runs(record: &JobRecord, next_run: Option<Timestamp>) -> Vec<String> {
    let regular = std::iter::successors(record.next_run, |run| record.job.timing.next_after(*run));
    let retry = next_run.filter(|run| record.next_run != Some(*run));
    retry.into_iter().chain(regular).take(AHEAD).map(aethon_core::time::text).collect()
}

fn optional<S: Serializer>(moment: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => aethon_core::time::serialize(moment, serializer),
        None => serializer.serialize_none(),
    }
}
