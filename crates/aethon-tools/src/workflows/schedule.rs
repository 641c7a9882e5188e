//! `schedule_task`, `list_scheduled_jobs` and `remove_scheduled_job`: the assistant's own access to the schedule.
//!
//! A job belongs to the person in whose conversation it was created: it works with their memories, and its results go
//! there. The owner sees and can remove every job, others only their own, and a turn that text from outside began only
//! those that such text made.

use std::fmt::Write as _;
use std::sync::Arc;

use aethon_core::schedule::{JobRecord, JobRefusal, JobRequest, Origin, Schedule, Timing};
use aethon_core::sop::SopName;
use aethon_core::time;
use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use aethon_core::version::Expected;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The channel whose sessions are also recipients.
const WEBCHAT: &str = "webchat";

/// Maximum characters of a prompt in a list.
const LISTED_PROMPT: usize = 120;

/// Creates a job.
pub(super) struct ScheduleTask {
    spec: ToolSpec,
    schedule: Arc<dyn Schedule>,
}

#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// When, again and again: five cron fields (minute hour day month weekday) such as "0 8 * * 1-5", or @daily.
    cron: Option<String>,
    /// When, once: a time such as 2026-12-24T18:00:00+01:00. Ask `current_time` first for "in ten minutes".
    run_at: Option<String>,
    /// The SOP to run.
    sop_name: Option<String>,
    /// What to do then, as you would be told in a chat; or the input of the SOP. It is all that you will know then.
    prompt: Option<String>,
    /// The channel that gets the result, such as webchat. Leave it out for this conversation.
    channel: Option<String>,
    /// Who gets it there; on webchat the name of a session.
    recipient: Option<String>,
    /// IANA name of the time zone of cron, such as Europe/Berlin. Leave it out for the zone of this machine.
    timezone: Option<String>,
    /// A name for the job, of letters, digits, - and _. Leave it out to have one made up.
    job_id: Option<String>,
    /// What happens to a run whose time passed while the assistant was not running: skip or run_once.
    missed: Option<String>,
    /// How often a run that failed is tried again.
    retries: Option<u32>,
}

impl ScheduleTask {
    pub(super) fn new(schedule: Arc<dyn Schedule>) -> Self {
        let spec = ToolSpec::of::<Wanted>(
            "schedule_task",
            "Schedules a prompt or a SOP, once or again and again. The result is delivered to a conversation.",
        )
        .with_role("prompt", ArgumentRole::Text)
        // Its result is delivered unattended, and it stays.
        .with_effect(Effect::Sends)
        .with_effect(Effect::ActsLater)
        // A job without a name is named after its call, and a job that the call has made before counts.
        .repeatable()
        .open_to(Trust::Guest);
        Self { spec, schedule }
    }

    /// Returns the job that this call made before a restart, if it did.
    async fn made_before(&self, context: &ToolContext, request: &JobRequest) -> Option<JobRecord> {
        if !context.is_again() {
            return None;
        }
        let jobs = self.schedule.jobs().await.ok()?;
        jobs.into_iter().find(|record| {
            let job = &record.job;
            Some(job.job_id.as_str()) == request.job_id.as_deref()
                && job.origin == Origin::Assistant
                && (&job.person, job.untrusted) == (&request.person, request.untrusted)
                && trimmed(job.task.prompt.as_deref()) == trimmed(request.prompt.as_deref())
                && trimmed(job.task.sop_name.as_ref().map(SopName::as_str))
                    == trimmed(request.sop_name.as_deref())
        })
    }
}

fn trimmed(text: Option<&str>) -> &str {
    text.unwrap_or_default().trim()
}

/// A model that has no name for a job may send an empty one.
fn trimmed_name(name: Option<String>) -> Option<String> {
    name.filter(|name| !name.trim().is_empty())
}

/// The name of a job that got none: that of the call that makes it, so that the same call makes it once.
fn name_of_call(context: &ToolContext) -> Option<String> {
    context.call_key().map(|key| format!("job-{}", &key[key.len() - 12..]))
}

/// Refuses a job of a person other than the owner whose result would not go to the conversation in which it is made.
fn check_destination(
    context: &ToolContext,
    channel: Option<&str>,
    recipient: Option<&str>,
) -> Result<(), ToolError> {
    let here = context.reply_to.as_ref();
    let is_here =
        here.is_some_and(|here| channel == Some(&here.channel) && recipient == here.recipient.as_deref());
    if context.trust() != Trust::Guest || is_here {
        return Ok(());
    }
    Err(ToolError::denied(format!(
        "the results of a job of {} go to the conversation in which it is made; leave out `channel` and `recipient`, and schedule \
         it from a chat",
        context.person
    )))
}

#[async_trait]
impl Tool for ScheduleTask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let wanted: Wanted = self.spec.parse(input)?;
        let is_here = wanted.channel.is_none() && wanted.recipient.is_none();
        let (mut channel, mut recipient) = (wanted.channel, wanted.recipient);
        if is_here && context.session.channel() == WEBCHAT {
            channel = Some(WEBCHAT.to_owned());
            recipient = Some(context.session.name().to_owned());
        } else if let Some(here) = context.reply_to.as_ref().filter(|_| is_here) {
            channel = Some(here.channel.clone());
            recipient.clone_from(&here.recipient);
        }
        check_destination(context, channel.as_deref(), recipient.as_deref())?;
        let request = JobRequest {
            job_id: trimmed_name(wanted.job_id).or_else(|| name_of_call(context)),
            cron: wanted.cron,
            run_at: wanted.run_at,
            sop_name: wanted.sop_name,
            prompt: wanted.prompt,
            channel,
            recipient,
            timezone: wanted.timezone,
            missed: wanted.missed,
            retries: wanted.retries,
            // The owner chooses where money goes, not a model.
            model: None,
            person: context.person.clone(),
            untrusted: context.untrusted,
        };
        let record = match self.made_before(context, &request).await {
            Some(record) => record,
            None => self.schedule.add(request, Origin::Assistant).await.map_err(refused)?,
        };
        let mut text = format!("The job {} is scheduled.", record.job.job_id);
        if let Some(next) = record.next_run {
            // Writing to a string cannot fail.
            let _ = write!(text, " Its first run is at {}.", time::text(next));
        }
        if !self.schedule.is_enabled() {
            text.push_str(
                " The scheduler is off (scheduler.enabled), so it does not run until that is changed.",
            );
        }
        Ok(ToolOutput::text(text))
    }
}

/// Lists the jobs.
pub(super) struct ListScheduledJobs {
    spec: ToolSpec,
    schedule: Arc<dyn Schedule>,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl ListScheduledJobs {
    pub(super) fn new(schedule: Arc<dyn Schedule>) -> Self {
        let about = "Lists the scheduled jobs with their next and last runs.";
        let spec = ToolSpec::of::<Nothing>("list_scheduled_jobs", about).reading_only();
        Self { spec: spec.open_to(Trust::Guest), schedule }
    }
}

#[async_trait]
impl Tool for ListScheduledJobs {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Nothing {} = self.spec.parse(input)?;
        let mut jobs = self.schedule.jobs().await.map_err(refused)?;
        jobs.retain(|record| context.may_see(&record.job.person, record.job.untrusted));
        if jobs.is_empty() {
            return Ok(ToolOutput::text("There are no scheduled jobs."));
        }
        Ok(ToolOutput::text(jobs.iter().map(line).collect::<String>().trim_end()))
    }
}

fn line(record: &JobRecord) -> String {
    let job = &record.job;
    let when = match &job.timing {
        Timing::Cron { cron, timezone } => format!("{cron} ({timezone})"),
        Timing::Once { run_at } => format!("once at {}", time::text(*run_at)),
    };
    let sop = job.task.sop_name.as_ref().map(|name| format!("the SOP {name}"));
    let prompt = job.task.prompt.as_ref().map(|text| {
        let short: String = text.chars().take(LISTED_PROMPT).collect();
        format!("{short:?}")
    });
    let what = sop.into_iter().chain(prompt).collect::<Vec<_>>().join(" with ");
    let next = record.next_run.map_or("never".to_owned(), time::text);
    let last = record.last_status.map_or("it never ran".to_owned(), |status| {
        let at = record.last_run.map(time::text).unwrap_or_default();
        let error = record.last_error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
        format!("last {} at {at}{error}", status.as_str())
    });
    let off = if job.enabled { "" } else { ", switched off" };
    format!("- {}: {when}{off}, {what}, to {}; next {next}; {last}\n", job.job_id, job.channel)
}

/// Removes a job.
pub(super) struct RemoveScheduledJob {
    spec: ToolSpec,
    schedule: Arc<dyn Schedule>,
}

#[derive(Deserialize, JsonSchema)]
struct Removed {
    /// The name of the job.
    job_id: String,
}

impl RemoveScheduledJob {
    pub(super) fn new(schedule: Arc<dyn Schedule>) -> Self {
        let about = "Removes a scheduled job. Jobs of the configuration stay.";
        let spec = ToolSpec::of::<Removed>("remove_scheduled_job", about)
            .with_role("job_id", ArgumentRole::Text)
            .with_effect(Effect::ActsLater)
            .repeatable()
            .open_to(Trust::Guest);
        Self { spec, schedule }
    }
}

#[async_trait]
impl Tool for RemoveScheduledJob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Removed { job_id } = self.spec.parse(input)?;
        if !context.trust().is_owner() {
            let jobs = self.schedule.jobs().await.map_err(refused)?;
            let is_theirs = |record: &JobRecord| {
                record.job.job_id.as_str() == job_id
                    && context.may_see(&record.job.person, record.job.untrusted)
            };
            if !jobs.iter().any(is_theirs) {
                // Whether another person has such a job is not revealed.
                return match context.is_again() {
                    true => Ok(gone(&job_id)),
                    false => Err(refused(JobRefusal::unknown(job_id))),
                };
            }
        }
        match self.schedule.remove(&job_id, Expected::Anything).await {
            // Perhaps because this call has removed it before; perhaps there never was one.
            Err(JobRefusal::Unknown(_)) if context.is_again() => Ok(gone(&job_id)),
            Err(refusal) => Err(refused(refusal)),
            Ok(()) => Ok(ToolOutput::text(format!("The job {job_id} is removed."))),
        }
    }
}

/// The answer to a call that runs again, the same whether the call has removed the job or has never reached one.
fn gone(job_id: &str) -> ToolOutput {
    ToolOutput::text(format!("There is no job {job_id} any more."))
}

fn refused(refusal: JobRefusal) -> ToolError {
    if let JobRefusal::Failed(error) = &refusal {
        tracing::warn!(%error, "the schedule could not be read or written");
    }
    ToolError::failed(refusal.to_string())
}
