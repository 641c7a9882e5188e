//! Executes one run of a job: its turn, its outcome, and the notices to the owner.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::channel::Channels;
use aethon_core::error::{Error, Result};
use aethon_core::event::JobChange;
use aethon_core::ids::{SessionId, unique};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Dedupe, Destination, Handling, Inbound, Reply, TurnEnd};
use aethon_core::schedule::{EndRun, Job, RunRecord, RunStatus};
use aethon_core::surface::Unattended;
use jiff::SignedDuration;
use tokio::time::sleep;

use super::book::JobBook;
use super::missed::{self, MissedRun};
use crate::notice::notice;
use aethon_core::patience::retry_until_stored;

/// The channel of job sessions.
const CHANNEL: &str = "schedule";

/// How often a full engine is tried again, and the pause in between.
const MAX_SUBMIT_RETRIES: u32 = 60;
const SUBMIT_PAUSE: Duration = Duration::from_secs(1);

/// The pause before the first retry; it doubles with every further one.
const FIRST_RETRY: SignedDuration = SignedDuration::from_secs(5);

/// The longest pause before a retry.
pub(super) const LAST_RETRY: SignedDuration = SignedDuration::from_mins(10);

/// Executes the runs of jobs.
pub(super) struct RunExecutor {
    pub(super) book: JobBook,
    pub(super) assistant: Arc<dyn Assistant>,
    pub(super) channels: Channels,
}

/// How a run ended.
enum Outcome {
    /// It succeeded.
    Done,
    /// It failed, and the turn itself has told the owner.
    Failed(String),
    /// It failed before there was a turn.
    NotBegun(String),
    /// The program is shutting down: the run stays open, and the next start resumes it.
    Open,
}

impl RunExecutor {
    /// Runs it until its end is stored.
    pub(super) async fn run(&self, run: RunRecord) {
        let job = match self.book.jobs.job(&run.job_id).await {
            Ok(Some(record)) => record.job,
            // The job's runs were removed with it.
            Ok(None) => return,
            Err(error) => return tracing::error!(%error, job = %run.job_id, "a job could not be read"),
        };
        let outcome = self.attempt(&job, &run).await;
        let (status, error) = match &outcome {
            Outcome::Open => return,
            Outcome::Done => (RunStatus::Ok, None),
            Outcome::Failed(error) | Outcome::NotBegun(error) => (RunStatus::Error, Some(error.clone())),
        };
        if let Outcome::NotBegun(error) = &outcome {
            self.notify_failure(&job, &run, error).await;
        }
        if let Some(error) = &error {
            tracing::warn!(job = %job.job_id, error, "a run of a job failed");
        }
        let at = self.book.clock.now();
        let retry_at = (error.is_some() && run.attempt < job.retries).then(|| at + pause(run.attempt));
        let end = EndRun { at, status, error: error.clone(), retry_at };
        let stored = retry_until_stored("the end of a job's run could not be stored; trying again", || {
            self.book.runs.end(&run.run_id, end.clone())
        });
        if let Err(error) = stored.await {
            return tracing::error!(%error, job = %job.job_id, "the end of a job's run could not be stored");
        }
        let ended = RunRecord { ended_at: Some(at), status, error, ..run };
        self.book.publish(&job.job_id, JobChange::Run(Arc::new(ended)));
        self.book.wake().ring();
    }

    async fn attempt(&self, job: &Job, run: &RunRecord) -> Outcome {
        let way = self.channels.get(&job.channel);
        if let Err(error) = way.and_then(|channel| channel.check_recipient(job.recipient.as_deref())) {
            return Outcome::NotBegun(error.to_string());
        }
        let inbound = match inbound(job, run) {
            Ok(inbound) => inbound,
            Err(error) => return Outcome::NotBegun(error.to_string()),
        };
        match self.submit(inbound).await {
            Ok(reply) => outcome(&reply),
            // The program is shutting down or about to, or cannot store the outcome. The run stays open for its successor.
            Err(error) if error.is_busy() || error.is_damaged() => Outcome::Open,
            Err(error) => Outcome::NotBegun(error.to_string()),
        }
    }

    /// Submits the message, retrying while the engine is full, and waits for the outcome. The wait is bounded, because
    /// a turn ends by itself after `agent.turn_timeout_seconds`.
    async fn submit(&self, inbound: Inbound) -> Result<Arc<Reply>> {
        let mut retries = 0;
        loop {
            match self.assistant.submit(inbound.clone(), Arc::new(Unattended)).await {
                Err(error) if error.is_busy() && retries < MAX_SUBMIT_RETRIES => {
                    retries += 1;
                    sleep(SUBMIT_PAUSE).await;
                }
                submitted => return submitted?.reply.wait().await,
            }
        }
    }

    /// Tells the owner that a run failed, through the job's own channel.
    async fn notify_failure(&self, job: &Job, run: &RunRecord, error: &str) {
        let text = format!("The job `{}` could not run: {error}", job.job_id);
        let key = format!("failed:{}", run.run_id);
        self.notify(destination(job), &key, text).await;
    }

    /// Tells the owner about missed runs.
    pub(super) async fn notify_misses(&self, to: Destination, missed: &[MissedRun]) {
        self.notify(to, &format!("missed:{}", unique()), missed::message(missed)).await;
    }

    /// Sends the owner a text of the program's own, through the outbox like every reply.
    async fn notify(&self, to: Destination, key: &str, text: String) {
        if self.channels.get(&to.channel).is_err() {
            // It is in the log and in the list of jobs.
            return;
        }
        let Some(inbound) = notice(CHANNEL, WorkKind::Scheduled, key, to, text) else { return };
        if let Err(error) = self.submit(inbound).await {
            tracing::warn!(%error, "could not notify the owner about a job");
        }
    }
}

/// The message of a run. Its dedupe id makes it a single turn, however often it is submitted.
fn inbound(job: &Job, run: &RunRecord) -> Result<Inbound> {
    let session = SessionId::of(CHANNEL, &format!("{}:{}", job.job_id, run.run_id))
        .map_err(|error| Error::invalid(error.to_string()))?;
    let prompt = job.task.prompt.clone().unwrap_or_default();
    let text = match &job.task.sop_name {
        // A message must not be empty.
        Some(name) if prompt.is_empty() => format!("/{name}"),
        _ => prompt,
    };
    let handling = job.task.sop_name.clone().map_or(Handling::Model, Handling::sop);
    let dedupe = Dedupe { id: format!("schedule:{}", run.run_id), fingerprint: None, valid_for: None };
    Ok(Inbound::say(session, text)
        .from_sender(job.job_id.as_str())
        .for_person(job.person.clone())
        .with_untrusted(job.untrusted)
        .of_kind(WorkKind::Scheduled)
        .with_model(job.model.clone())
        .with_oneshot(true)
        .with_dedupe(dedupe)
        .delivered_to(destination(job))
        .handled_by(handling))
}

/// Where the result of a job is delivered.
pub(super) fn destination(job: &Job) -> Destination {
    Destination { channel: job.channel.clone(), recipient: job.recipient.clone() }
}

fn outcome(reply: &Reply) -> Outcome {
    if reply.end == TurnEnd::End {
        return Outcome::Done;
    }
    let failure = reply.failure.as_ref().map(|failure| failure.message.clone());
    Outcome::Failed(failure.unwrap_or_else(|| match reply.end {
        TurnEnd::Stopped => "it was stopped".to_owned(),
        _ => reply.text.clone(),
    }))
}

fn pause(attempt: u32) -> SignedDuration {
    FIRST_RETRY.saturating_mul(1 << attempt.min(10)).min(LAST_RETRY)
}
