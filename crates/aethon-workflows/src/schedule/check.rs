//! Validates a requested job: produces one that can be stored, or everything that is wrong with it.

use std::collections::BTreeMap;

use aethon_core::error::Result;
use aethon_core::ids::SessionId;
use aethon_core::schedule::{
    Cron, FieldFault, Job, JobId, JobRefusal, JobRequest, Missed, Origin, Task, Timing, zone, zone_name,
};
use aethon_core::sop::{SopCatalog, SopName};
use aethon_core::time::to_millisecond;
use jiff::Timestamp;
use jiff::civil::DateTime;

use super::options::BookOptions;
use crate::sop::read_input;

/// The longest prompt, in characters.
const MAX_PROMPT: usize = 20_000;

/// The most retries.
const MAX_RETRIES: u32 = 10;

/// The findings so far.
#[derive(Default)]
struct Findings {
    faults: Vec<FieldFault>,
    /// What does not speak against the job, but against its runs as things stand.
    warning: Option<String>,
}

impl Findings {
    fn add(&mut self, field: &'static str, message: impl Into<String>) {
        self.faults.push(FieldFault { field, message: message.into() });
    }
}

/// Checks a request and reports all faults at once. Returns the job, and a warning for the client that adds it.
pub(super) async fn check(
    request: JobRequest,
    origin: Origin,
    options: &BookOptions,
    sops: &dyn SopCatalog,
    now: Timestamp,
) -> Result<(Job, Option<String>), JobRefusal> {
    let request = without_blanks(request);
    let mut findings = Findings::default();
    let job_id = match request.job_id.as_deref().map(JobId::parse) {
        None => JobId::fresh(),
        Some(Ok(id)) => id,
        Some(Err(error)) => {
            findings.add("job_id", error.to_string());
            JobId::fresh()
        }
    };
    let timing = timing(&request, now, &mut findings);
    let task = task(&request, origin, sops, &mut findings).await?;
    let is_default = request.channel.is_none();
    let channel = request.channel.unwrap_or_else(|| options.default_channel.clone());
    check_delivery(&channel, request.recipient.as_deref(), options, &mut findings);
    let fault = findings.faults.iter_mut().find(|fault| fault.field == "channel");
    if let Some(fault) = fault.filter(|_| is_default) {
        fault.message.push_str(" (it is scheduler.default_channel)");
    }
    // A reminder that comes late is better than none; the next run of a repeated job comes by itself.
    let usual = if request.run_at.is_some() { Missed::RunOnce } else { Missed::Skip };
    let missed = request.missed.as_deref().map_or(Some(usual), Missed::parse);
    if missed.is_none() {
        findings.add("missed", "must be skip or run_once");
    }
    let retries = request.retries.unwrap_or(0);
    if retries > MAX_RETRIES {
        findings.add("retries", format!("must be at most {MAX_RETRIES}"));
    }
    let (Some(timing), Some(missed), true) = (timing, missed, findings.faults.is_empty()) else {
        return Err(JobRefusal::Fields(findings.faults));
    };
    let job = Job {
        job_id,
        timing,
        task,
        channel,
        recipient: request.recipient,
        missed,
        retries,
        model: request.model,
        enabled: true,
        paused: false,
        origin,
        person: request.person,
        untrusted: request.untrusted,
    };
    Ok((job, findings.warning))
}

/// Checks the channel and the recipient of the result.
fn check_delivery(channel: &str, recipient: Option<&str>, options: &BookOptions, findings: &mut Findings) {
    if let Some(fault) = channel_fault(channel, options) {
        findings.add("channel", fault);
    }
    if recipient.is_some_and(|recipient| SessionId::of("x", recipient).is_err()) {
        findings.add("recipient", "must be a short name without control characters");
    }
    if let Some(fault) = recipient_fault(channel, recipient, options) {
        findings.add("recipient", fault);
    }
}

fn channel_fault(channel: &str, options: &BookOptions) -> Option<String> {
    if options.channels.iter().any(|known| known == channel) {
        return None;
    }
    let known = match options.channels.as_slice() {
        [] => "no channel is set up".to_owned(),
        channels => format!("set up: {}", channels.join(", ")),
    };
    Some(format!("{channel:?} does not exist; {known}"))
}

fn recipient_fault(channel: &str, recipient: Option<&str>, options: &BookOptions) -> Option<String> {
    let needs_one = options.without_home.iter().any(|known| known == channel);
    (needs_one && recipient.is_none())
        .then(|| format!("is required, because channels.{channel}.home is empty"))
}

/// Returns the obstacles that will keep a configured job from running. It is stored all the same, because a SOP may be
/// added later.
pub(super) async fn obstacles(
    job: &Job,
    options: &BookOptions,
    sops: &dyn SopCatalog,
) -> Result<Vec<String>> {
    let recipient = recipient_fault(&job.channel, job.recipient.as_deref(), options);
    let recipient = recipient.map(|fault| format!("its recipient {fault}"));
    let mut obstacles: Vec<String> =
        channel_fault(&job.channel, options).into_iter().chain(recipient).collect();
    obstacles.extend(sop_fault(&job.task, sops).await?.map(|fault| match fault {
        SopFault::Unknown(message) => message,
        SopFault::Needs(needs) => format!("its prompt {needs}"),
    }));
    Ok(obstacles)
}

/// Treats blank texts as absent.
fn without_blanks(request: JobRequest) -> JobRequest {
    let kept = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    JobRequest {
        job_id: kept(request.job_id),
        cron: kept(request.cron),
        run_at: kept(request.run_at),
        sop_name: kept(request.sop_name),
        prompt: kept(request.prompt),
        channel: kept(request.channel),
        recipient: kept(request.recipient),
        timezone: kept(request.timezone),
        missed: kept(request.missed),
        retries: request.retries,
        model: kept(request.model),
        person: request.person,
        untrusted: request.untrusted,
    }
}

fn timing(request: &JobRequest, now: Timestamp, findings: &mut Findings) -> Option<Timing> {
    let zone = match zone(request.timezone.as_deref()) {
        Ok(zone) => zone,
        Err(message) => {
            findings.add("timezone", message);
            return None;
        }
    };
    match (&request.cron, &request.run_at) {
        (None, None) => findings.add("cron", "is required, or run_at for a job that runs once"),
        (Some(_), Some(_)) => findings.add("run_at", "and cron exclude each other; give one of them"),
        (Some(cron), None) => match Cron::parse(cron) {
            Err(error) => findings.add("cron", error.to_string()),
            Ok(cron) if cron.next_after(now, &zone).is_none() => {
                findings.add("cron", format!("{:?} never comes: no month has such a day", cron.as_str()));
            }
            Ok(cron) => return Some(Timing::Cron { cron, timezone: zone_name(&zone).to_owned() }),
        },
        (None, Some(text)) => {
            // A time without an offset is in the job's time zone.
            let local = || text.parse::<DateTime>().ok()?.to_zoned(zone).ok().map(|time| time.timestamp());
            match text.parse::<Timestamp>().ok().or_else(local) {
                None => {
                    let text: String = text.chars().take(80).collect();
                    findings.add("run_at", format!("{text:?} is no time such as 2026-12-24T18:00:00Z"));
                }
                Some(run_at) if to_millisecond(run_at) <= now => {
                    findings.add("run_at", format!("is in the past: {text}; give a time to come"));
                }
                Some(run_at) => return Some(Timing::Once { run_at: to_millisecond(run_at) }),
            }
        }
    }
    None
}

async fn task(
    request: &JobRequest,
    origin: Origin,
    sops: &dyn SopCatalog,
    findings: &mut Findings,
) -> Result<Task, JobRefusal> {
    let prompt = request.prompt.clone();
    if prompt.as_ref().is_some_and(|prompt| prompt.chars().count() > MAX_PROMPT) {
        findings.add("prompt", format!("must have at most {MAX_PROMPT} characters"));
    }
    let Some(name) = &request.sop_name else {
        if prompt.is_none() {
            findings.add("prompt", "is required, or sop_name for a job that runs a SOP");
        }
        return Ok(Task { sop_name: None, prompt });
    };
    let sop_name = match SopName::parse(name) {
        Ok(name) => Some(name),
        Err(_) => {
            findings.add("sop_name", "must be 1 to 64 lower-case letters, digits and hyphens");
            None
        }
    };
    let task = Task { sop_name, prompt };
    match (sop_fault(&task, sops).await?, origin) {
        (None, _) => {}
        (Some(SopFault::Unknown(message)), _) => {
            findings.add("sop_name", format!("cannot be used: {message}"));
        }
        // A model can ask the person and try again.
        (Some(SopFault::Needs(needs)), Origin::Assistant) => findings.add("prompt", needs),
        // A person may schedule the job before writing the input that the SOP needs.
        (Some(SopFault::Needs(needs)), _) => {
            findings.warning = Some(format!("its runs will fail: prompt {needs}"));
        }
    }
    Ok(task)
}

/// A problem with the SOP that a task runs.
enum SopFault {
    /// There is none of this name, in a sentence.
    Unknown(String),
    /// It does not get all that it needs from the prompt, in words about the prompt.
    Needs(String),
}

async fn sop_fault(task: &Task, sops: &dyn SopCatalog) -> Result<Option<SopFault>> {
    let Some(name) = &task.sop_name else { return Ok(None) };
    let Some(sop) = sops.sop(name).await? else {
        return Ok(Some(SopFault::Unknown(format!(
            "there is no SOP named {name}; the list of SOPs has the others"
        ))));
    };
    let input = read_input(&sop, BTreeMap::new(), task.prompt.as_deref().unwrap_or_default());
    let missing: Vec<&str> = input.missing(&sop).iter().map(|one| one.name.as_str()).collect();
    let needs = || SopFault::Needs(format!("must say what the SOP needs: {}", missing.join(", ")));
    Ok((!missing.is_empty()).then(needs))
}
