//! The job book: requests from the API, the tools and the terminal are handled here.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::event::{Event, EventBus, JobChange};
use aethon_core::ids::unique;
use aethon_core::schedule::{
    BeginRun, Job, JobEdits, JobId, JobRecord, JobRefusal, JobRequest, JobStore, Origin, RunLog, RunRecord,
    RunStatus, Schedule,
};
use aethon_core::sop::SopCatalog;
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use aethon_core::version::Expected;
use async_trait::async_trait;
use jiff::Timestamp;

use super::ScheduleWake;
use super::check::{check, obstacles};
use super::options::BookOptions;
use super::strangers::StrangerJobs;

/// The most jobs.
const MAX_JOBS: usize = 2_000;

/// How often a job is read again that was changed while it was being paused.
const ATTEMPTS: usize = 8;

/// The parts of a job book.
pub struct BookParts {
    /// The stored jobs.
    pub jobs: Arc<dyn JobStore>,
    /// The stored runs.
    pub runs: Arc<dyn RunLog>,
    /// The SOPs that jobs may run.
    pub sops: Arc<dyn SopCatalog>,
    /// The configuration.
    pub options: BookOptions,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Announces changes of jobs and runs.
    pub bus: EventBus,
}

/// An assistant's jobs. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct JobBook {
    pub(super) jobs: Arc<dyn JobStore>,
    pub(super) runs: Arc<dyn RunLog>,
    pub(super) sops: Arc<dyn SopCatalog>,
    pub(super) options: BookOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bus: EventBus,
    pub(super) wake: ScheduleWake,
    strangers: Option<StrangerJobs>,
}

impl JobBook {
    /// A book over these parts.
    pub fn new(parts: BookParts) -> Self {
        let BookParts { jobs, runs, sops, options, clock, bus } = parts;
        Self { jobs, runs, sops, options, clock, bus, wake: ScheduleWake::default(), strangers: None }
    }

    /// Limits the jobs that turns make which the owner's own words did not begin.
    #[must_use]
    pub fn with_stranger_limit(self, strangers: StrangerJobs) -> Self {
        Self { strangers: Some(strangers), ..self }
    }

    /// Synchronises the stored jobs with the configuration: adds new ones, updates changed ones, and removes those of
    /// earlier configurations. An unchanged job keeps its next time, so that a missed run is noticed.
    pub async fn take_over(&self, configured: Vec<Job>) -> Result<()> {
        let now = self.clock.now();
        for record in self.jobs.jobs().await? {
            let is_configured = configured.iter().any(|job| job.job_id == record.job.job_id);
            if record.job.origin == Origin::Config && !is_configured {
                self.jobs.remove(&record.job.job_id, Expected::Anything).await?;
            }
        }
        for job in configured {
            let known = self.jobs.job(&job.job_id).await?;
            let is_paused = known.as_ref().is_some_and(|known| known.job.paused);
            let job = Job { paused: is_paused, ..job };
            if known.as_ref().is_some_and(|known| known.job.origin != Origin::Config) {
                tracing::warn!(job = %job.job_id, "the configuration has a job of this name, which takes the place of the other");
            }
            if job.is_active() && self.options.is_enabled {
                for obstacle in obstacles(&job, &self.options, &*self.sops).await? {
                    tracing::warn!(job = %job.job_id, "this job of the configuration cannot run: {obstacle}");
                }
            }
            let is_same =
                known.is_some_and(|known| known.job == job && (known.next_run.is_some() || !job.is_active()));
            if !is_same {
                let next_run = job.timing.next_after(now).filter(|_| job.is_active());
                self.jobs.replace(&job, next_run, Expected::Anything).await?;
            }
        }
        Ok(())
    }

    /// Returns what wakes the scheduler.
    pub fn wake(&self) -> ScheduleWake {
        self.wake.clone()
    }

    /// Creates the record of a run that begins now.
    pub(super) fn new_run(&self, job: &JobId, due: Option<Timestamp>, attempt: u32) -> RunRecord {
        RunRecord {
            run_id: unique(),
            job_id: job.clone(),
            due,
            started_at: self.clock.now(),
            ended_at: None,
            status: RunStatus::Running,
            error: None,
            attempt,
        }
    }

    pub(super) fn publish(&self, job: &JobId, change: JobChange) {
        if let JobChange::Run(run) = &change {
            self.measure(run);
        }
        self.bus.publish(|| Event::Job { job: job.clone(), change });
    }

    /// Measures a finished run.
    fn measure(&self, run: &RunRecord) {
        let Some(ended_at) = run.ended_at else { return };
        let status = match run.status {
            RunStatus::Running => return,
            RunStatus::Ok => TelemetryStatus::Ok,
            RunStatus::Error => TelemetryStatus::Error,
            RunStatus::Skipped | RunStatus::Missed => TelemetryStatus::Skipped,
        };
        let event = TelemetryEvent::new(TelemetryKind::Job, run.job_id.as_str(), status, ended_at)
            .with_detail(run.error.as_deref().unwrap_or_default());
        let ran = status != TelemetryStatus::Skipped;
        let took = Duration::try_from(ended_at.duration_since(run.started_at)).ok().filter(|_| ran);
        self.bus.record(took.map_or(event.clone(), |took| event.took(took)));
    }

    /// Pauses a job or lets it go on, if it is still the one that was read.
    async fn pause(&self, id: &str, is_paused: bool, expected: &Expected) -> Result<JobRecord, JobRefusal> {
        let mut record = self.expected(id, expected).await?;
        if !record.job.enabled && !is_paused {
            return Err(JobRefusal::Conflict(format!(
                "the configuration has switched the job {id:?} off; set scheduler.jobs.{id}.enabled"
            )));
        }
        if record.job.paused == is_paused {
            return Ok(record);
        }
        // The whole job is written, so it must still be the one that was read, even if the caller expects nothing.
        let seen = Expected::OneOf(vec![record.job.version()]);
        record.job.paused = is_paused;
        let now = self.clock.now();
        record.next_run = record.job.timing.next_after(now).filter(|_| record.job.is_active());
        record.retry_at = None;
        self.jobs.replace(&record.job, record.next_run, seen).await?;
        tracing::info!(job = id, is_paused, "a job was paused or resumed");
        self.publish(&record.job.job_id, if is_paused { JobChange::Paused } else { JobChange::Resumed });
        self.wake.ring();
        Ok(record)
    }

    async fn existing(&self, id: &str) -> Result<JobRecord, JobRefusal> {
        self.expected(id, &Expected::Anything).await
    }

    /// Returns a job if it is as expected. The storage compares again when it is changed.
    async fn expected(&self, id: &str, expected: &Expected) -> Result<JobRecord, JobRefusal> {
        let record = match JobId::parse(id) {
            Ok(id) => self.jobs.job(&id).await?,
            Err(_) => None,
        };
        expected.check(|| record.as_ref().map(|record| record.job.version()))?;
        record.ok_or_else(|| JobRefusal::unknown(id))
    }
}

#[async_trait]
impl JobEdits for JobBook {
    async fn change(&self, request: JobRequest, expected: Expected) -> Result<JobRecord, JobRefusal> {
        let id = request.job_id.clone().unwrap_or_default();
        let mut record = self.expected(&id, &expected).await?;
        let before = &record.job;
        if before.origin == Origin::Config {
            return Err(JobRefusal::Conflict(format!(
                "the job {id:?} stands in the configuration; change [scheduler.jobs.{id}] there and restart"
            )));
        }
        let now = self.clock.now();
        let (wanted, warning) = check(request, before.origin, &self.options, &*self.sops, now).await?;
        let job = Job {
            enabled: before.enabled,
            paused: before.paused,
            person: before.person.clone(),
            // Other words do not make a stranger's job the owner's: its time or recipient may be what was theirs.
            untrusted: before.untrusted,
            ..wanted
        };
        // A run that is due already stays due if the time of the job is the same.
        let is_same_time = job.timing == before.timing && record.next_run.is_some();
        let next_run = if is_same_time { record.next_run } else { job.timing.next_after(now) };
        let next_run = next_run.filter(|_| job.is_active());
        // The whole job is written, so it must still be the one that was read, even if the caller expects nothing.
        self.jobs.replace(&job, next_run, Expected::OneOf(vec![before.version()])).await?;
        tracing::info!(job = id, "a job was changed");
        self.publish(&job.job_id, JobChange::Changed);
        self.wake.ring();
        (record.job, record.next_run, record.retry_at, record.attempt) = (job, next_run, None, 0);
        record.warning = warning;
        Ok(record)
    }
}

#[async_trait]
impl Schedule for JobBook {
    fn is_enabled(&self) -> bool {
        self.options.is_enabled
    }

    async fn jobs(&self) -> Result<Vec<JobRecord>, JobRefusal> {
        Ok(self.jobs.jobs().await?)
    }

    async fn add(&self, request: JobRequest, origin: Origin) -> Result<JobRecord, JobRefusal> {
        let now = self.clock.now();
        let (job, warning) = check(request, origin, &self.options, &*self.sops, now).await?;
        let next_run = job.timing.next_after(now);
        let place = match self.strangers.as_ref().filter(|_| !job.trust().is_owner()) {
            Some(strangers) => Some((strangers, strangers.take(&job, &self.jobs.jobs().await?, now).await?)),
            None => None,
        };
        if !self.jobs.add(&job, next_run, MAX_JOBS).await? {
            if let Some((strangers, place)) = place {
                strangers.give_back(place).await?;
            }
            return Err(JobRefusal::Conflict(match self.jobs.job(&job.job_id).await? {
                Some(_) => {
                    format!("there is a job {:?}; remove it first, or give another name", job.job_id.as_str())
                }
                None => format!("there are {MAX_JOBS} jobs already; remove some first"),
            }));
        }
        tracing::info!(job = %job.job_id, ?origin, "a job was added");
        self.publish(&job.job_id, JobChange::Added);
        self.wake.ring();
        let mut record = JobRecord::new(job, next_run);
        record.warning = warning;
        Ok(record)
    }

    async fn remove(&self, id: &str, expected: Expected) -> Result<(), JobRefusal> {
        let record = self.expected(id, &expected).await?;
        if record.job.origin == Origin::Config {
            return Err(JobRefusal::Conflict(format!(
                "the job {id:?} stands in the configuration; remove [scheduler.jobs.{id}] there and restart"
            )));
        }
        if !self.jobs.remove(&record.job.job_id, expected).await? {
            return Err(JobRefusal::unknown(id));
        }
        tracing::info!(job = id, "a job was removed");
        self.publish(&record.job.job_id, JobChange::Removed);
        Ok(())
    }

    async fn set_paused(
        &self,
        id: &str,
        is_paused: bool,
        expected: Expected,
    ) -> Result<JobRecord, JobRefusal> {
        for _ in 0..ATTEMPTS {
            match self.pause(id, is_paused, &expected).await {
                // A caller without an expectation retries on top of a concurrent change instead of undoing it.
                Err(JobRefusal::Failed(error)) if error.is_changed_elsewhere() && expected.is_anything() => {}
                outcome => return outcome,
            }
        }
        Err(JobRefusal::Failed(Error::changed_elsewhere()))
    }

    async fn run(&self, id: &str) -> Result<RunRecord, JobRefusal> {
        let record = self.existing(id).await?;
        let run = self.new_run(&record.job.job_id, None, 0);
        let begin = BeginRun { job: record.job.job_id.clone(), seen: None, next_run: None, run };
        let Some(run) = self.runs.begin(begin).await? else {
            return Err(JobRefusal::Conflict(format!("the job {id:?} runs already")));
        };
        self.publish(&record.job.job_id, JobChange::Run(Arc::new(run.clone())));
        self.wake.ring();
        Ok(run)
    }

    async fn runs(&self, id: &str, limit: usize) -> Result<Vec<RunRecord>, JobRefusal> {
        let record = self.existing(id).await?;
        Ok(self.runs.runs(&record.job.job_id, limit).await?)
    }
}
