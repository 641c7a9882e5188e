//! `jobs list|add|rm|run|runs`: scheduled jobs, through the daemon if one runs, else in this process.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use aethon::core::schedule::{JobRefusal, JobRequest, Origin};
use aethon::core::visible::readable;
use aethon::json::{Jobs, ListedJob};
use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::source::Source;
use super::{confirm, print, print_json};
use crate::args::{Common, JobArgs, JobsCommand};
use crate::daemon::encoded;

/// The interval between checks whether a run has ended.
const LOOK: Duration = Duration::from_millis(300);

/// How many jobs one request reads.
const PAGE: usize = 1000;

/// How many runs are listed.
const LISTED_RUNS: usize = 50;

pub(crate) async fn run(common: &Common, command: JobsCommand) -> Result<ExitCode> {
    Source::run(common, async |source| {
        let jobs = TimedJobs::of(source).await?;
        jobs.answer(command.clone()).await.map_err(in_words)
    })
    .await
}

/// What is added where there is no such job; the answer itself is worded for every interface.
const LISTS: &str = "`aethon-cli jobs list` lists them";

/// Adds where to look to the daemon's answer that there is no such job.
fn in_words(error: anyhow::Error) -> anyhow::Error {
    match crate::daemon::status_of(&error) {
        Some(404) => anyhow!("{error:#}; {LISTS}"),
        _ => error,
    }
}

/// The scheduled jobs and their runs.
struct TimedJobs<'s>(&'s Source);

impl<'s> TimedJobs<'s> {
    async fn of(source: &'s Source) -> Result<Self> {
        if let Source::Here(aethon) = source {
            aethon.take_over_jobs().await?;
        }
        Ok(Self(source))
    }

    async fn answer(&self, command: JobsCommand) -> Result<ExitCode> {
        match command {
            JobsCommand::List { json } => {
                let list = self.list().await?;
                if json { print_json(&list)? } else { print(&table(&list))? }
            }
            JobsCommand::Add(args) => {
                let as_json = args.json;
                let job = self.add(*args).await?;
                match as_json {
                    true => print_json(&job)?,
                    false => {
                        let text = |key: &str| readable(job[key].as_str().unwrap_or("never"));
                        print(&format!("{}  next run {}\n", text("job_id"), text("next_run")))?;
                        if let Some(warning) = job["warning"].as_str() {
                            print(&format!("{}\n", readable(warning)))?;
                        }
                    }
                }
            }
            JobsCommand::Rm { id, yes } => {
                // Fails for an unknown job before asking for confirmation.
                self.runs(&id).await?;
                if !confirm(&format!("remove the job {id} and the record of its runs"), yes)? {
                    return Ok(ExitCode::FAILURE);
                }
                self.remove(&id).await?;
                self.0.note_removal(&format!("scheduler/jobs/{id}")).await;
            }
            JobsCommand::Run { id, json } => {
                let run = self.run(&id).await?;
                if json {
                    print_json(&run)?
                } else {
                    print(&line(&run))?
                }
                return Ok(if run["status"] == "ok" { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
            JobsCommand::Runs { id, json } => {
                let runs = self.runs(&id).await?;
                match json {
                    true => print_json(&runs)?,
                    false => {
                        print(&runs["runs"].as_array().into_iter().flatten().map(line).collect::<String>())?
                    }
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let mut list = daemon.get(format!("/api/scheduler?limit={PAGE}")).await?;
                while let Some(cursor) = list["next_cursor"].as_str().map(encoded) {
                    let mut page = daemon.get(format!("/api/scheduler?limit={PAGE}&cursor={cursor}")).await?;
                    list["next_cursor"] = page["next_cursor"].take();
                    if let (Some(jobs), Value::Array(more)) =
                        (list["jobs"].as_array_mut(), page["jobs"].take())
                    {
                        jobs.extend(more);
                    }
                }
                Ok(list)
            }
            Source::Here(aethon) => {
                let schedule = aethon.schedule();
                let jobs = schedule.jobs().await.map_err(refused)?;
                Ok(json!(Jobs::of(schedule.is_enabled(), &jobs)))
            }
        }
    }

    async fn add(&self, args: JobArgs) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.post("/api/scheduler/jobs".into(), &body(&args)).await,
            Source::Here(aethon) => {
                let record = aethon.schedule().add(request(args), Origin::Owner).await.map_err(refused)?;
                Ok(json!(ListedJob::of(&record)))
            }
        }
    }

    async fn remove(&self, id: &str) -> Result<()> {
        match self.0 {
            Source::Daemon(daemon) => {
                daemon.delete(format!("/api/scheduler/jobs/{}", encoded(id))).await.map(drop)
            }
            Source::Here(aethon) => {
                aethon.schedule().remove(id, aethon::core::version::Expected::Anything).await.map_err(refused)
            }
        }
    }

    /// Runs a job and waits for the run to end. Turns have a time limit, and so does this wait.
    async fn run(&self, id: &str) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let path = format!("/api/scheduler/jobs/{}/run", encoded(id));
                let mut run = daemon.post(path, &json!({})).await?;
                while run["status"] == "running" {
                    sleep(LOOK).await;
                    let runs = match self.runs(id).await {
                        Ok(runs) => runs,
                        // The command must not start over: the job would run twice.
                        Err(error) => bail!(
                            "the job was started, and how it ended is not known: {error:#}; `aethon-cli jobs runs {id}` shows it"
                        ),
                    };
                    let mut known = runs["runs"].as_array().into_iter().flatten();
                    match known.find(|known| known["run_id"] == run["run_id"]) {
                        Some(known) => run = known.clone(),
                        // The job has been removed meanwhile.
                        None => break,
                    }
                }
                Ok(run)
            }
            Source::Here(aethon) => Ok(json!(aethon.run_job(id).await.map_err(refused)?)),
        }
    }

    async fn runs(&self, id: &str) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let path = format!("/api/scheduler/jobs/{}/runs?limit={LISTED_RUNS}", encoded(id));
                daemon.get(path).await
            }
            Source::Here(aethon) => {
                let runs = aethon.schedule().runs(id, LISTED_RUNS).await.map_err(refused)?;
                Ok(json!({ "runs": runs }))
            }
        }
    }
}

/// Turns a refusal of the schedule into an error.
fn refused(refusal: JobRefusal) -> anyhow::Error {
    match refusal {
        JobRefusal::Unknown(_) => anyhow!("{refusal}; {LISTS}"),
        JobRefusal::Fields(_) => aethon::Error::refused(refusal.to_string()).into(),
        other => anyhow::Error::msg(other.to_string()),
    }
}

fn request(args: JobArgs) -> JobRequest {
    JobRequest {
        job_id: args.id,
        cron: args.cron,
        run_at: args.run_at,
        sop_name: args.sop,
        prompt: args.prompt,
        channel: args.channel,
        recipient: args.recipient,
        timezone: args.timezone,
        missed: args.missed,
        retries: args.retries,
        model: args.model,
        ..JobRequest::default()
    }
}

fn body(args: &JobArgs) -> Value {
    json!({
        "job_id": args.id,
        "cron": args.cron,
        "run_at": args.run_at,
        "sop_name": args.sop,
        "prompt": args.prompt,
        "channel": args.channel,
        "recipient": args.recipient,
        "timezone": args.timezone,
        "missed": args.missed,
        "retries": args.retries,
        "model": args.model,
    })
}

fn table(list: &Value) -> String {
    let mut out = String::new();
    for job in list["jobs"].as_array().into_iter().flatten() {
        let text = |key: &str| readable(job[key].as_str().unwrap_or_default());
        let when = if job["cron"].is_string() {
            format!("{} ({})", text("cron"), text("timezone"))
        } else {
            format!("once at {}", text("run_at"))
        };
        let what = match (job["sop_name"].as_str(), job["prompt"].as_str()) {
            (Some(name), _) => format!("/{}", readable(name)),
            (None, prompt) => readable(&prompt.unwrap_or_default().chars().take(60).collect::<String>()),
        };
        let next = if job["next_run"].is_string() { text("next_run") } else { "never".to_owned() };
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{}  {when}  {what}\n    next {next}, to {}", text("job_id"), text("channel"));
        match job["made_by"].as_str() {
            Some("outside") => out.push_str("    asked for by text from outside\n"),
            Some(person) => drop(writeln!(out, "    asked for by {}", readable(person))),
            None => {}
        }
        if job["last_status"].is_string() {
            let _ = writeln!(
                out,
                "    last {} at {} {}",
                text("last_status"),
                text("last_run"),
                text("last_error")
            );
        }
    }
    if list["enabled"] == false {
        out.push_str("the scheduler is off (scheduler.enabled): no job runs by itself\n");
    }
    if out.is_empty() { "no jobs yet\n".to_owned() } else { out }
}

fn line(run: &Value) -> String {
    let text = |key: &str| readable(run[key].as_str().unwrap_or_default());
    format!("{}  {}  {}  {}\n", text("started_at"), text("run_id"), text("status"), text("error"))
}
