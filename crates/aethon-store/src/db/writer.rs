//! The writer: one thread, one connection, many jobs in one commit.
//!
//! Everything that is queued when the thread becomes free runs in one transaction and is answered after its commit.
//! Jobs must be repeatable: if one fails after writing, the group is rolled back and each job runs alone, so that a
//! failure affects no other job and the normal case pays for no savepoints.
//!
//! A patient job, whose caller is not held up by it, waits a moment for an awaited one to share a commit with: in a busy
//! session the next message is accepted in the transaction that ends the turn before it.
//!
//! A background job, which no caller waits for, is queued until the next awaited job, or for a moment if none comes. It
//! costs no commit of its own, and wakes the thread only from a long sleep ([`BackgroundQueue`]).
//!
//! While the storage fails, awaited jobs fail at once and their callers retry. Background jobs that must not be lost
//! are kept ([`OnStorageFailure`]), and when nothing else arrives, the writer probes whether the storage accepts writes again.
//!
//! The queue is bounded: [`QUEUE_CAPACITY`] jobs may wait; further callers wait (asynchronously) for a slot. When
//! nothing arrives for a moment, the writer runs [idle tasks](super::idle_tasks): indexing, removal, checkpoints.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::background_queue::BackgroundQueue;
use super::checkpoints::Checkpoints;
use super::commits::{Commits, Committed, DiskSpace, in_transaction};
use super::idle_tasks::IdleTasks;
use super::job::{BackgroundTasks, CommitTiming, Job, OnStorageFailure};
use super::log_link::{LogMarks, MarkJob, mark};
use super::open::{Opened, Settings, open_anew};
use super::sql::Sql;
use crate::error::Error;

/// Capacity of the queue.
const QUEUE_CAPACITY: usize = 1024;

/// Maximum jobs per commit, unless more background jobs wait: enough to amortize its cost, few enough to answer soon.
const MAX_GROUP: usize = 128;

/// How long a patient job waits for others.
const MAX_SHARING_DELAY: Duration = Duration::from_micros(500);

/// Shortest and longest delay between probes of a failing storage.
const MIN_PROBE_DELAY: Duration = Duration::from_millis(50);
const MAX_PROBE_DELAY: Duration = Duration::from_secs(1);

/// How often an idle writer checks that the files are still in place.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Message to the writer thread.
enum WriterMessage {
    /// A job that a caller waits for.
    Job(Box<dyn Job>),
    /// One that may wait a [`MAX_SHARING_DELAY`].
    Patient(Box<dyn Job>),
    /// Wakes the thread to pick up background jobs.
    WakeUp,
}

impl WriterMessage {
    fn job(self) -> Option<Box<dyn Job>> {
        match self {
            Self::Job(job) | Self::Patient(job) => Some(job),
            Self::WakeUp => None,
        }
    }
}

/// Handle to the writer thread.
pub(crate) struct Writer {
    slots: Arc<Semaphore>,
    queue: Mutex<Option<Sender<WriterMessage>>>,
    background: Arc<BackgroundQueue>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Number of background jobs that are not finished.
    pending: Arc<AtomicUsize>,
}

impl Writer {
    /// Starts the thread on this connection.
    pub(crate) fn start(opened: Opened, settings: Settings, tasks: BackgroundTasks) -> Result<Self, Error> {
        let (queue, jobs) = channel();
        let background = Arc::<BackgroundQueue>::default();
        let shared = background.clone();
        let work = move || serve(opened, (&jobs, shared), &settings, &tasks);
        let thread =
            std::thread::Builder::new().name("store-writer".into()).spawn(work).map_err(Error::thread)?;
        Ok(Self {
            slots: Arc::new(Semaphore::new(QUEUE_CAPACITY)),
            queue: Mutex::new(Some(queue)),
            background,
            thread: Mutex::new(Some(thread)),
            pending: Arc::default(),
        })
    }

    /// Runs a job and returns its result once it is committed. The job runs even if the caller loses interest. It may
    /// run twice, in which case the first run was rolled back.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        timing: CommitTiming,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let slot = self.slots.clone().acquire_owned().await.map_err(|_| Error::closed())?;
        let (reply, answer) = oneshot::channel();
        let task = Box::new(AwaitedJob { work, outcome: None, reply, _slot: slot });
        self.send(match timing {
            CommitTiming::Immediate => WriterMessage::Job(task),
            CommitTiming::Shared => WriterMessage::Patient(task),
        })?;
        answer.await.map_err(|_| Error::closed())?
    }

    /// Queues a job for the next commit. Its outcome is only logged.
    pub(crate) async fn run_later(
        &self,
        on_failure: OnStorageFailure,
        work: impl FnMut(&Sql<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let slot = self.slots.clone().acquire_owned().await.map_err(|_| Error::closed())?;
        let pending = PendingCount::new(&self.pending);
        let job = Box::new(BackgroundJob { work, on_failure, failure: None, _pending: pending, _slot: slot });
        if self.background.push(job)? {
            self.send(WriterMessage::WakeUp)?;
        }
        Ok(())
    }

    /// Returns whether background jobs are pending.
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    fn send(&self, message: WriterMessage) -> Result<(), Error> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.as_ref().and_then(|queue| queue.send(message).ok()).ok_or_else(Error::closed)
    }

    /// Refuses new jobs, finishes the queued ones, checkpoints, closes the connection and ends the thread. Blocks.
    pub(crate) fn close(&self) {
        self.slots.close();
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that writes the database panicked");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

struct AwaitedJob<F, T> {
    work: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
    /// Released once the job is answered.
    _slot: OwnedSemaphorePermit,
}

impl<T: Send, F: FnMut(&Sql<'_>) -> Result<T, Error> + Send> Job for AwaitedJob<F, T> {
    fn run(&mut self, sql: &Sql<'_>) {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(sql)));
        self.outcome = Some(result.unwrap_or_else(|_| Err(Error::panicked())));
    }

    fn failure(&self) -> Option<&Error> {
        self.outcome.as_ref().and_then(|outcome| outcome.as_ref().err())
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    fn answer(self: Box<Self>, group: Result<(), Error>) {
        let outcome = match (group, self.outcome) {
            (_, Some(Err(error))) => Err(error),
            (Err(error), _) => Err(error),
            (Ok(()), outcome) => outcome.unwrap_or_else(|| Err(Error::closed())),
        };
        // A send error means that the caller is gone; the job is done all the same.
        let _ = self.reply.send(outcome);
    }
}

/// A job that no caller waits for.
struct BackgroundJob<F> {
    work: F,
    on_failure: OnStorageFailure,
    failure: Option<Error>,
    /// Both are released when the job is done.
    _pending: PendingCount,
    _slot: OwnedSemaphorePermit,
}

impl<F: FnMut(&Sql<'_>) -> Result<(), Error> + Send> Job for BackgroundJob<F> {
    fn is_to_be_kept(&self) -> bool {
        self.on_failure == OnStorageFailure::Retry
    }

    fn run(&mut self, sql: &Sql<'_>) {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(sql)));
        self.failure = result.unwrap_or_else(|_| Err(Error::panicked())).err();
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }

    fn answer(self: Box<Self>, group: Result<(), Error>) {
        if let Some(error) = self.failure.or(group.err()) {
            tracing::error!(error = &error as &dyn std::error::Error, "something was not stored");
        }
    }
}

/// Counts a job as pending until dropped.
struct PendingCount(Arc<AtomicUsize>);

impl PendingCount {
    fn new(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(counter))
    }
}

impl Drop for PendingCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// State of the writer thread.
struct WriterState<'s> {
    sql: Sql<'s>,
    settings: &'s Settings,
    idle_tasks: IdleTasks,
    commits: Commits,
    marks: LogMarks,
    /// Background jobs, committed together with the next awaited job.
    background: Arc<BackgroundQueue>,
    /// Background jobs that a failing storage did not accept.
    kept: Vec<Box<dyn Job>>,
    /// How long to wait for a job before probing a failing storage.
    probe_delay: Duration,
    /// When it was last checked whether a read-only database can be reopened.
    looked_at: Instant,
}

/// Why the writer no longer runs on a connection.
enum RunEnd {
    /// The storage was closed.
    Closed,
    /// The database could only be read, and can perhaps be written by now.
    MayBeWritable,
}

fn serve(
    mut opened: Opened,
    (jobs, background): (&Receiver<WriterMessage>, Arc<BackgroundQueue>),
    settings: &Settings,
    tasks: &BackgroundTasks,
) {
    let (mut kept, mut probe_delay) = (Vec::new(), MIN_PROBE_DELAY);
    loop {
        let obstacle = opened.obstacle.as_ref().map(Error::for_another);
        let log_pages = count_log_pages(&mut opened.connection);
        let commits = Commits::new(&opened, obstacle, settings.health.clone(), tasks);
        let checkpoints = Checkpoints::new(settings.clone(), opened.identity.clone(), log_pages);
        let (health, capacity) = (settings.health.clone(), opened.capacity);
        let mut state = WriterState {
            sql: Sql::new(&opened.connection),
            settings,
            idle_tasks: IdleTasks::new(tasks.idle_tasks, checkpoints, capacity, health),
            commits,
            marks: LogMarks::new(&settings.path),
            background: background.clone(),
            kept,
            probe_delay,
            looked_at: Instant::now(),
        };
        let end = state.run(jobs);
        (kept, probe_delay) = (std::mem::take(&mut state.kept), state.probe_delay);
        drop(state);
        if let RunEnd::MayBeWritable = end {
            opened = open_anew(settings, opened);
            if opened.obstacle.is_none() {
                probe_delay = MIN_PROBE_DELAY;
            }
            continue;
        }
        // The last connection to close checkpoints the log and removes it.
        if let Err((_, error)) = opened.connection.close() {
            tracing::warn!(%error, "the database could not be closed; nothing is lost");
        }
        return;
    }
}

/// Keeps track of the length of the log after each commit.
fn count_log_pages(connection: &mut Connection) -> Arc<AtomicU32> {
    let log_pages = Arc::new(AtomicU32::new(0));
    let counter = log_pages.clone();
    let counted = connection.wal_hook(Some(move |_: &mut Wal, pages| {
        counter.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }));
    if let Err(error) = counted {
        tracing::warn!(%error, "the length of the log is not known; only idle moments shorten it");
    }
    log_pages
}

/// Returns the first job and those queued behind it. Waits a moment for one that is awaited if none of them is.
fn gather(first: WriterMessage, jobs: &Receiver<WriterMessage>) -> Vec<Box<dyn Job>> {
    let until = Instant::now() + MAX_SHARING_DELAY;
    let mut is_awaited = matches!(first, WriterMessage::Job(_));
    let mut group = Vec::from_iter(first.job());
    while group.len() < MAX_GROUP {
        let next = match is_awaited {
            true => jobs.try_recv().ok(),
            false => jobs.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
        };
        let Some(next) = next else { break };
        is_awaited |= matches!(next, WriterMessage::Job(_));
        group.extend(next.job());
    }
    group
}

impl WriterState<'_> {
    /// Runs jobs until the storage is closed, or until the database can perhaps be written that could not be when it was
    /// opened.
    fn run(&mut self, jobs: &Receiver<WriterMessage>) -> RunEnd {
        loop {
            // A storm of jobs must not keep it from being looked for.
            if self.is_due_to_be_opened_anew(MAX_PROBE_DELAY) {
                return RunEnd::MayBeWritable;
            }
            match jobs.recv_timeout(self.pause()) {
                Ok(WriterMessage::WakeUp) => {}
                Ok(first) => {
                    let arrived = gather(first, jobs);
                    // Run all background jobs first: the caller may be about to read their writes.
                    let mut group = self.take_background();
                    group.extend(arrived);
                    self.commit(group);
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.is_due_to_be_opened_anew(Duration::ZERO) {
                        return RunEnd::MayBeWritable;
                    }
                    self.on_timeout();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut last = std::mem::take(&mut self.kept);
        last.extend(self.background.close());
        if !last.is_empty() {
            self.commit(last);
        }
        // Answering these logs that they could not be stored.
        for job in self.kept.drain(..) {
            job.answer(Err(Error::closed()));
        }
        RunEnd::Closed
    }

    /// Checks whether the database can be reopened, if the last check is as old as this.
    fn is_due_to_be_opened_anew(&mut self, age: Duration) -> bool {
        if !self.commits.only_reads() || self.looked_at.elapsed() < age {
            return false;
        }
        self.looked_at = Instant::now();
        let is_due = self.commits.may_be_opened_anew(&self.settings.path);
        if is_due {
            // It may fail, and is not to be tried in vain all the time.
            self.probe_delay = (self.probe_delay * 2).min(MAX_PROBE_DELAY);
        }
        is_due
    }

    /// Returns how long to wait for a job.
    fn pause(&self) -> Duration {
        if self.commits.is_failing() {
            return self.probe_delay;
        }
        if let Some(patience) = self.background.patience() {
            return patience;
        }
        self.idle_tasks.pause().or_else(|| self.background.patience_before_sleep()).unwrap_or(CHECK_INTERVAL)
    }

    /// Takes all background jobs, oldest first.
    fn take_background(&mut self) -> Vec<Box<dyn Job>> {
        let mut group = std::mem::take(&mut self.kept);
        group.extend(self.background.take());
        group
    }

    fn on_timeout(&mut self) {
        let was_failing = self.commits.is_failing();
        let background = self.take_background();
        if !background.is_empty() {
            self.commit(background);
        } else if was_failing {
            self.commits.try_again(&self.sql);
        } else if self.idle_tasks.pause().is_some() {
            self.idle_tasks.step(&self.sql);
            if self.marks.observe(false) {
                match in_transaction(&self.sql, mark) {
                    Ok(()) => drop(self.marks.observe(true)),
                    Err(error) => tracing::debug!(%error, "the log could not be marked yet"),
                }
            }
        } else {
            self.commits.check_files();
        }
        let is_failing = self.commits.is_failing();
        self.probe_delay = if was_failing && is_failing {
            (self.probe_delay * 2).min(MAX_PROBE_DELAY)
        } else {
            MIN_PROBE_DELAY
        };
    }

    fn commit(&mut self, mut group: Vec<Box<dyn Job>>) {
        let is_marked = Arc::new(AtomicBool::new(false));
        if self.marks.is_due() {
            group.push(Box::new(MarkJob::new(&self.sql, is_marked.clone())));
        }
        let Committed { space, kept } = self.commits.run(&self.sql, group);
        self.kept.extend(kept);
        if self.commits.only_reads() {
            return;
        }
        match space {
            DiskSpace::Enough => self.idle_tasks.after_commit(&self.sql),
            DiskSpace::Lacking => self.idle_tasks.make_room(&self.sql),
        }
        self.marks.observe(is_marked.load(Ordering::Relaxed));
    }
}
