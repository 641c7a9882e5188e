//! The writer: one thread, one connection, many jobs in one commit.
//!
//! Whatever waits when the thread becomes free is run in one transaction and answered after its commit. Jobs can run
//! again: when one of a group fails after it has written, the group is rolled back and each job runs alone, so that a
//! failure touches nobody else and the usual case pays for no savepoints.
//!
//! A job that nobody waits for is held until the next one that somebody does wait for, or a moment if none comes: it costs
//! no commit of its own, and wakes the thread only when that would sleep for long ([`Held`]).
//!
//! While the storage fails, whoever waits is told so at once and asks again; jobs that nobody waits for and that are needed
//! are kept ([`Urgency`]), and when nothing else comes, it is tried whether a little can be written again.
//!
//! Full: [`WAITING`] jobs may wait; further callers wait (asynchronously) for a place. When nothing comes for a moment,
//! [idle tasks](super::idle_tasks) are done: indexing, removing, checkpoints.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::checkpoints::Checkpoints;
use super::commits::{Commits, Committed, DiskSpace};
use super::held::Held;
use super::idle_tasks::IdleTasks;
use super::open::Settings;
use super::place::Place;
use super::sql::Sql;
use crate::error::Error;

/// How many jobs may wait.
const WAITING: usize = 1024;

/// How many jobs share a commit at most, unless more are held: enough to make its cost small, few enough to answer soon.
const GROUP: usize = 128;

/// How long it takes at first, and at last, until it is tried whether a failing storage works again.
const FIRST_PATIENCE: Duration = Duration::from_millis(50);
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// How often somebody who has nothing to do looks whether the files are still there.
const LOOK: Duration = Duration::from_secs(10);

/// Work for idle moments. Does a little and tells whether more is left; runs in a transaction of its own.
pub(crate) type IdleTask = fn(&Sql<'_>) -> Result<bool, Error>;

/// What the thread does by itself.
pub(crate) struct Background {
    /// In idle moments.
    pub(crate) idle_tasks: &'static [IdleTask],
    /// To see whether something can be stored again: it writes a little.
    pub(crate) probe: IdleTask,
}

/// What the thread is sent.
enum Parcel {
    /// Somebody waits for this.
    Job(Box<dyn Job>),
    /// Something is held.
    Look,
}

impl Parcel {
    fn job(self) -> Option<Box<dyn Job>> {
        match self {
            Self::Job(job) => Some(job),
            Self::Look => None,
        }
    }
}

/// The handle of the thread.
pub(crate) struct Writer {
    places: Arc<Semaphore>,
    queue: Mutex<Option<Sender<Parcel>>>,
    held: Arc<Held>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How many jobs are on their way that nobody waits for.
    later: Arc<AtomicUsize>,
}

impl Writer {
    /// Starts the thread on this connection.
    pub(crate) fn start(
        (mut connection, place): (Connection, Arc<Place>),
        settings: Settings,
        background: Background,
    ) -> Result<Self, Error> {
        let (queue, jobs) = channel();
        let log_pages = Arc::new(AtomicU32::new(0));
        let counter = log_pages.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            counter.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let commits = Commits::new(place.clone(), settings.health.clone(), background.probe);
        let idle_tasks = IdleTasks::new(background.idle_tasks, Checkpoints::new(settings, place, log_pages));
        let held = Arc::<Held>::default();
        let shared = held.clone();
        let work = move || serve(connection, (&jobs, shared), idle_tasks, commits);
        let thread =
            std::thread::Builder::new().name("store-writer".into()).spawn(work).map_err(Error::thread)?;
        Ok(Self {
            places: Arc::new(Semaphore::new(WAITING)),
            queue: Mutex::new(Some(queue)),
            held,
            thread: Mutex::new(Some(thread)),
            later: Arc::default(),
        })
    }

    /// Runs a job and answers once it is committed. It runs even if the caller loses interest, and it may run twice, the
    /// first time without effect.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| Error::closed())?;
        let (reply, answer) = oneshot::channel();
        let task = Task { work, outcome: None, reply, _place: place };
        self.send(Parcel::Job(Box::new(task)))?;
        answer.await.map_err(|_| Error::closed())?
    }

    /// Queues a job for the next commit. Nobody learns of its outcome but the log.
    pub(crate) async fn run_later(
        &self,
        urgency: Urgency,
        work: impl FnMut(&Sql<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| Error::closed())?;
        let ticket = Ticket::new(&self.later);
        let job = Box::new(Later { work, urgency, failure: None, _ticket: ticket, _place: place });
        if self.held.push(job)? {
            self.send(Parcel::Look)?;
        }
        Ok(())
    }

    /// Whether jobs are on their way that nobody waits for.
    pub(crate) fn has_later(&self) -> bool {
        self.later.load(Ordering::Acquire) > 0
    }

    fn send(&self, parcel: Parcel) -> Result<(), Error> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.as_ref().and_then(|queue| queue.send(parcel).ok()).ok_or_else(Error::closed)
    }

    /// Takes nothing new, finishes what waits, checkpoints, closes the connection and ends the thread. Blocks.
    pub(crate) fn close(&self) {
        self.places.close();
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

/// What a job that nobody waits for is worth while the storage fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// It has to be stored, however long that takes.
    Needed,
    /// The log says that it was not stored.
    Welcome,
}

/// A job in the queue, whatever it returns.
pub(super) trait Job: Send {
    /// Whether it is run again when the storage failed, because nobody would ask again.
    fn is_to_be_kept(&self) -> bool {
        false
    }

    /// Runs and keeps the outcome.
    fn run(&mut self, sql: &Sql<'_>);

    /// What went wrong, if something did.
    fn failure(&self) -> Option<&Error>;

    /// Sends the outcome; or, if the group's transaction failed, that.
    fn answer(self: Box<Self>, group: Result<(), Error>);
}

struct Task<F, T> {
    work: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
    /// Freed when the job is answered.
    _place: OwnedSemaphorePermit,
}

impl<T: Send, F: FnMut(&Sql<'_>) -> Result<T, Error> + Send> Job for Task<F, T> {
    fn run(&mut self, sql: &Sql<'_>) {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(sql)));
        self.outcome = Some(result.unwrap_or_else(|_| Err(Error::panicked())));
    }

    fn failure(&self) -> Option<&Error> {
        self.outcome.as_ref().and_then(|outcome| outcome.as_ref().err())
    }

    fn answer(self: Box<Self>, group: Result<(), Error>) {
        let outcome = match (group, self.outcome) {
            (_, Some(Err(error))) => Err(error),
            (Err(error), _) => Err(error),
            (Ok(()), outcome) => outcome.unwrap_or_else(|| Err(Error::closed())),
        };
        // An error means that the caller is gone; the job is done all the same.
        let _ = self.reply.send(outcome);
    }
}

/// A job that nobody waits for.
struct Later<F> {
    work: F,
    urgency: Urgency,
    failure: Option<Error>,
    /// Both freed when the job is done.
    _ticket: Ticket,
    _place: OwnedSemaphorePermit,
}

impl<F: FnMut(&Sql<'_>) -> Result<(), Error> + Send> Job for Later<F> {
    fn is_to_be_kept(&self) -> bool {
        self.urgency == Urgency::Needed
    }

    fn run(&mut self, sql: &Sql<'_>) {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(sql)));
        self.failure = result.unwrap_or_else(|_| Err(Error::panicked())).err();
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    fn answer(self: Box<Self>, group: Result<(), Error>) {
        if let Some(error) = self.failure.or(group.err()) {
            tracing::error!(error = &error as &dyn std::error::Error, "something was not stored");
        }
    }
}

/// Counts a job while it is on its way.
struct Ticket(Arc<AtomicUsize>);

impl Ticket {
    fn new(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(counter))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The work of the thread.
struct Serving<'s> {
    sql: Sql<'s>,
    idle_tasks: IdleTasks,
    commits: Commits,
    /// Jobs that nobody waits for: they come along with the next commit.
    held: Arc<Held>,
    /// Those of them that a failing storage did not take.
    kept: Vec<Box<dyn Job>>,
    /// How long to wait for something to do before it is tried whether a failing storage works again.
    patience: Duration,
}

fn serve(
    connection: Connection,
    (jobs, held): (&Receiver<Parcel>, Arc<Held>),
    idle_tasks: IdleTasks,
    commits: Commits,
) {
    let sql = Sql::new(&connection);
    let mut serving = Serving { sql, idle_tasks, commits, held, kept: Vec::new(), patience: FIRST_PATIENCE };
    serving.run(jobs);
    drop(serving);
    // The last connection to close brings the log into the file and removes it.
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database could not be closed; nothing is lost");
    }
}

impl Serving<'_> {
    fn run(&mut self, jobs: &Receiver<Parcel>) {
        loop {
            match jobs.recv_timeout(self.pause()) {
                Ok(Parcel::Job(job)) => {
                    // All that is held: who waits may be about to read it.
                    let mut group = self.that_waits();
                    group.push(job);
                    let places = GROUP.saturating_sub(group.len());
                    group.extend(jobs.try_iter().filter_map(Parcel::job).take(places));
                    self.commit(group);
                }
                Ok(Parcel::Look) => {}
                Err(RecvTimeoutError::Timeout) => self.nothing_came(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut last = std::mem::take(&mut self.kept);
        last.extend(self.held.close());
        if !last.is_empty() {
            self.commit(last);
        }
        // What could not be stored now is said in the log.
        for job in self.kept.drain(..) {
            job.answer(Err(Error::closed()));
        }
    }

    /// How long to wait for something to do.
    fn pause(&self) -> Duration {
        if self.commits.is_failing() {
            return self.patience;
        }
        if let Some(patience) = self.held.patience() {
            return patience;
        }
        self.idle_tasks.pause().or_else(|| self.held.patience_before_sleep()).unwrap_or(LOOK)
    }

    /// What nobody waits for, the oldest first.
    fn that_waits(&mut self) -> Vec<Box<dyn Job>> {
        let mut group = std::mem::take(&mut self.kept);
        group.extend(self.held.take());
        group
    }

    fn nothing_came(&mut self) {
        let was_failing = self.commits.is_failing();
        let held = self.that_waits();
        if !held.is_empty() {
            self.commit(held);
        } else if was_failing {
            self.commits.try_again(&self.sql);
        } else if self.idle_tasks.pause().is_some() {
            self.idle_tasks.step(&self.sql);
        } else {
            self.commits.look();
        }
        let is_failing = self.commits.is_failing();
        self.patience =
            if was_failing && is_failing { (self.patience * 2).min(LAST_PATIENCE) } else { FIRST_PATIENCE };
    }

    fn commit(&mut self, group: Vec<Box<dyn Job>>) {
        let Committed { space, kept } = self.commits.run(&self.sql, group);
        self.kept.extend(kept);
        match space {
            DiskSpace::Enough => self.idle_tasks.written(&self.sql),
            DiskSpace::Lacking => self.idle_tasks.make_room(&self.sql),
        }
    }
}
