//! The scheduler: begins due runs, a few in parallel, and resumes the open runs of an earlier process.
//!
//! Runs that are due while all places are taken wait in the storage, so nothing piles up in memory. The clock is read every few
//! seconds, because it may be set and the machine may sleep. A job moves on to its next time in the transaction that
//! begins its run, so nothing runs twice for the same time, even if the clock is set back. A next time that a wrong clock
//! left behind is replaced by the right one at the start and when the clock was set back.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::channel::Channels;
use aethon_core::error::Result;
use aethon_core::event::JobChange;
use aethon_core::message::Destination;
use aethon_core::schedule::{BeginRun, Due, JobRecord, Missed, RunRecord, RunStatus, Timing};
use aethon_core::shutdown::Shutdown;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::book::JobBook;
use super::executor::{LAST_RETRY, RunExecutor, destination};
use super::missed::MissedRun;
use super::watch::{Absence, Watch};

/// How many runs go in parallel. Each is a turn with model calls of its own, and the chat must not become slower.
const SIDE_BY_SIDE: usize = 4;

/// How many jobs are read at once.
const BATCH: usize = 256;

/// The longest wait before the clock is read again.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The shortest wait, so that an unreadable row does not cause a busy loop.
const MIN_WAIT: Duration = Duration::from_millis(20);

/// The pause after a storage failure.
const STORAGE_PAUSE: Duration = Duration::from_secs(5);

/// The parts of a scheduler.
pub struct SchedulerParts {
    /// The jobs.
    pub book: JobBook,
    /// The assistant that works on them.
    pub assistant: Arc<dyn Assistant>,
    /// Where results are delivered.
    pub channels: Channels,
}

/// The scheduler of a daemon.
pub struct Scheduler {
    book: JobBook,
    executor: Arc<RunExecutor>,
    watch: Watch,
    /// The latest time that was noted as seen.
    seen: Option<Timestamp>,
    /// The runs in progress here.
    under_way: HashSet<String>,
    tasks: JoinSet<String>,
}

/// Missed runs found in one pass, by where they are reported.
type Misses = BTreeMap<Destination, Vec<MissedRun>>;

/// The findings of one pass.
#[derive(Default)]
struct Pass {
    misses: Misses,
    /// The latest time at which something was due that has no place yet.
    waiting: Option<Timestamp>,
}

impl Scheduler {
    /// A scheduler that watches from now on.
    pub fn new(parts: SchedulerParts) -> Self {
        let SchedulerParts { book, assistant, channels } = parts;
        let watch = Watch::new(book.clock.now(), None);
        let executor = Arc::new(RunExecutor { book: book.clone(), assistant, channels });
        Self { book, executor, watch, seen: None, under_way: HashSet::new(), tasks: JoinSet::new() }
    }

    /// Runs jobs until the program shuts down. Runs in progress are then left open, as are their turns; the next start
    /// resumes both.
    pub async fn run(mut self, mut shutdown: Shutdown) {
        let wake = self.book.wake();
        let mut has_begun = false;
        while !shutdown.is_requested() {
            let passed = async {
                if !has_begun {
                    self.take_up().await?;
                    has_begun = true;
                }
                self.run_pass().await
            };
            let wait = match passed.await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::error!(%error, "the jobs cannot be read or written");
                    STORAGE_PAUSE
                }
            };
            tokio::select! {
                biased;
                () = shutdown.requested() => break,
                Some(ended) = self.tasks.join_next() => self.forget(ended),
                () = wake.rung() => {}
                () = sleep(wait) => {}
            }
        }
        self.tasks.shutdown().await;
    }

    /// Resumes a single open run and completes it, ignoring all others: for a terminal that requested it.
    pub async fn run_one(parts: SchedulerParts, run: RunRecord) {
        let SchedulerParts { book, assistant, channels } = parts;
        RunExecutor { book, assistant, channels }.run(run).await;
    }

    fn forget(&mut self, ended: std::result::Result<String, tokio::task::JoinError>) {
        match ended {
            Ok(run) => {
                self.under_way.remove(&run);
            }
            // Whichever run it was, it is still open and will be resumed.
            Err(error) => {
                tracing::error!(%error, "a run of a job broke down");
                if self.tasks.is_empty() {
                    self.under_way.clear();
                }
            }
        }
    }

    /// Goes on from where an earlier process was.
    async fn take_up(&mut self) -> Result<()> {
        let now = self.book.clock.now();
        self.watch = Watch::new(now, self.book.runs.note_seen(None).await?);
        self.correct_times(now).await
    }

    /// Replaces times that a wrong clock left behind: times later than the next one of the expression, and retries further off
    /// than any pause. The time of the last run is left out: it has had its run.
    async fn correct_times(&self, now: Timestamp) -> Result<()> {
        for record in self.book.jobs.jobs().await? {
            let times = Due { next_run: record.next_run, retry_at: record.retry_at };
            let right = Due {
                next_run: times.next_run.map(|at| right_time(&record, at, now)),
                retry_at: times.retry_at.map(|at| at.min(now.checked_add(LAST_RETRY).unwrap_or(at))),
            };
            let id = &record.job.job_id;
            if right != times && self.book.jobs.reschedule(id, times, right).await? {
                tracing::info!(job = %id, "the next time of a job came from a wrong clock and was corrected");
            }
        }
        Ok(())
    }

    fn has_place(&self) -> bool {
        self.under_way.len() < SIDE_BY_SIDE
    }

    /// Begins what can be begun. Returns how long to wait before the next pass.
    async fn run_pass(&mut self) -> Result<Duration> {
        let now = self.book.clock.now();
        if self.watch.observe(now) {
            self.correct_times(now).await?;
        }
        if self.has_place() {
            for run in self.book.runs.open().await? {
                if self.has_place() && !self.under_way.contains(&run.run_id) {
                    self.start(run);
                }
            }
        }
        if !self.book.options.is_enabled {
            return Ok(MAX_WAIT);
        }
        let mut pass = Pass::default();
        let due = self.book.runs.due(now, BATCH).await?;
        let is_full = due.len() == BATCH;
        for record in due {
            self.begin(record, now, &mut pass).await?;
        }
        if pass.waiting > self.seen {
            self.book.runs.note_seen(pass.waiting).await?;
            self.seen = pass.waiting;
        }
        for (to, missed) in pass.misses {
            self.executor.notify_misses(to, &missed).await;
        }
        if !self.has_place() {
            // The end of a run wakes it.
            return Ok(MAX_WAIT);
        }
        if is_full {
            return Ok(MIN_WAIT);
        }
        let Some(next) = self.book.runs.next_due().await? else { return Ok(MAX_WAIT) };
        let wait = next.duration_since(self.book.clock.now());
        Ok(Duration::try_from(wait).unwrap_or_default().clamp(MIN_WAIT, MAX_WAIT))
    }

    /// Records a run that was missed, or begins one if there is a place.
    async fn begin(&mut self, record: JobRecord, now: Timestamp, pass: &mut Pass) -> Result<()> {
        let job = &record.job;
        let by_time = record.next_run.filter(|at| *at <= now);
        let absence = by_time.and_then(|at| self.watch.absence(at)).filter(|_| job.missed == Missed::Skip);
        if absence.is_none() && !self.has_place() {
            pass.waiting = pass.waiting.max(by_time);
            return Ok(());
        }
        // The next scheduled time replaces a pending retry.
        let (next_run, attempt) = match by_time {
            Some(_) => (job.timing.next_after(now), 0),
            None => (record.next_run, record.attempt),
        };
        let mut run = self.book.new_run(&job.job_id, by_time.or(record.retry_at), attempt);
        if let (Some(at), Some(absence)) = (by_time, absence) {
            run.started_at = at;
            run.ended_at = Some(now);
            run.status = RunStatus::Missed;
            run.error = Some(absence.reason().to_owned());
        }
        let seen = Some(Due { next_run: record.next_run, retry_at: record.retry_at });
        let begin = BeginRun { job: job.job_id.clone(), seen, next_run, run };
        let Some(run) = self.book.runs.begin(begin).await? else {
            // Another program was first.
            return Ok(());
        };
        self.book.publish(&job.job_id, JobChange::Run(Arc::new(run.clone())));
        match run.status {
            RunStatus::Running => self.start(run),
            RunStatus::Missed => {
                tracing::warn!(job = %job.job_id, at = %run.started_at, "a run of a job was missed");
                let absence = absence.unwrap_or(Absence::Stopped);
                pass.misses.entry(destination(job)).or_default().push(MissedRun::new(
                    job,
                    run.started_at,
                    absence,
                ));
            }
            _ => {
                tracing::warn!(job = %job.job_id, "a run of a job was left out, because the one before it runs still")
            }
        }
        Ok(())
    }

    fn start(&mut self, run: RunRecord) {
        self.under_way.insert(run.run_id.clone());
        let executor = self.executor.clone();
        self.tasks.spawn(async move {
            let id = run.run_id.clone();
            executor.run(run).await;
            id
        });
    }
}

/// Returns the time at which a job is due whose stored time is `at`.
fn right_time(record: &JobRecord, at: Timestamp, now: Timestamp) -> Timestamp {
    let timing = &record.job.timing;
    if matches!(timing, Timing::Once { .. }) {
        return at;
    }
    let next = timing.next_after(now).map(|next| match record.last_run {
        Some(last) if last == next => timing.next_after(next).unwrap_or(next),
        _ => next,
    });
    next.map_or(at, |next| at.min(next))
}
