//! The writer: one thread, one connection, many jobs in one commit.
//!
//! Whatever waits when the thread becomes free is run in one transaction and answered after its commit. Jobs can run
//! again: when one of a group fails after it has written, the group is rolled back and each job runs alone, so that a
//! failure touches nobody else and the usual case pays for no savepoints.
//!
//! A job that nobody waits for is held until the next one that somebody does wait for, or a moment if none comes: it costs
//! no commit of its own.
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
use super::idle_tasks::IdleTasks;
use super::open::Settings;
use super::sql::Sql;
use crate::error::Error;

/// How many jobs may wait.
const WAITING: usize = 1024;

/// How many jobs share a commit at most: enough to make its cost small, few enough to answer soon.
const GROUP: usize = 128;

/// How long a job that nobody waits for is held when no other comes.
const HELD: Duration = Duration::from_millis(20);

/// Work for idle moments. Does a little and tells whether more is left; runs in a transaction of its own.
pub(crate) type IdleTask = fn(&Sql<'_>) -> Result<bool, Error>;

/// The handle of the thread.
pub(crate) struct Writer {
    places: Arc<Semaphore>,
    queue: Mutex<Option<Sender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How many jobs are on their way that nobody waits for.
    later: Arc<AtomicUsize>,
}

impl Writer {
    /// Starts the thread on this connection.
    pub(crate) fn start(
        mut connection: Connection,
        settings: Settings,
        idle_tasks: &'static [IdleTask],
    ) -> Result<Self, Error> {
        let (queue, jobs) = channel();
        let log_pages = Arc::new(AtomicU32::new(0));
        let counter = log_pages.clone();
        connection.wal_hook(Some(move |_: &mut Wal, pages| {
            counter.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let idle_tasks = IdleTasks::new(idle_tasks, Checkpoints::new(settings, log_pages));
        let work = move || serve(connection, &jobs, idle_tasks);
        let thread =
            std::thread::Builder::new().name("store-writer".into()).spawn(work).map_err(Error::thread)?;
        Ok(Self {
            places: Arc::new(Semaphore::new(WAITING)),
            queue: Mutex::new(Some(queue)),
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
        self.send(Box::new(task))?;
        answer.await.map_err(|_| Error::closed())?
    }

    /// Queues a job for the next commit. Nobody learns of its outcome but the log.
    pub(crate) async fn run_later(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| Error::closed())?;
        let ticket = Ticket::new(&self.later);
        self.send(Box::new(Later { work, failure: None, _ticket: ticket, _place: place }))
    }

    /// Whether jobs are on their way that nobody waits for.
    pub(crate) fn has_later(&self) -> bool {
        self.later.load(Ordering::Acquire) > 0
    }

    fn send(&self, job: Box<dyn Job>) -> Result<(), Error> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.as_ref().and_then(|queue| queue.send(job).ok()).ok_or_else(Error::closed)
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

/// A job in the queue, whatever it returns.
trait Job: Send {
    /// Whether nobody waits for it.
    fn can_wait(&self) -> bool {
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
    failure: Option<Error>,
    /// Both freed when the job is done.
    _ticket: Ticket,
    _place: OwnedSemaphorePermit,
}

impl<F: FnMut(&Sql<'_>) -> Result<(), Error> + Send> Job for Later<F> {
    fn can_wait(&self) -> bool {
        true
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

/// Whether the disk took what it was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiskSpace {
    Enough,
    Lacking,
}

impl DiskSpace {
    fn after(error: &Error) -> Self {
        if error.is_about_the_disk() { Self::Lacking } else { Self::Enough }
    }
}

/// How a group ended.
enum Attempt {
    /// Everything that succeeded is stored.
    Committed,
    /// A job failed after it had written: nothing is stored, and the others can be tried again.
    Spoiled(DiskSpace),
    /// The transaction itself failed: nothing is stored.
    Failed(Error),
}

fn serve(connection: Connection, jobs: &Receiver<Box<dyn Job>>, mut idle_tasks: IdleTasks) {
    {
        let sql = Sql::new(&connection);
        let mut held: Vec<Box<dyn Job>> = Vec::new();
        loop {
            let pause = if held.is_empty() { idle_tasks.pause() } else { Some(HELD) };
            let next = match pause {
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(pause) => jobs.recv_timeout(pause),
            };
            match next {
                Ok(job) if job.can_wait() && held.len() + 1 < GROUP => held.push(job),
                Ok(job) => {
                    let places = GROUP.saturating_sub(held.len() + 1);
                    let group = held.drain(..).chain([job]).chain(jobs.try_iter().take(places)).collect();
                    commit(&sql, group, &mut idle_tasks);
                }
                Err(RecvTimeoutError::Timeout) if held.is_empty() => idle_tasks.step(&sql),
                Err(RecvTimeoutError::Timeout) => commit(&sql, std::mem::take(&mut held), &mut idle_tasks),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if !held.is_empty() {
            commit(&sql, held, &mut idle_tasks);
        }
    }
    // The last connection to close brings the log into the file and removes it.
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database could not be closed; nothing is lost");
    }
}

fn commit(sql: &Sql<'_>, group: Vec<Box<dyn Job>>, idle_tasks: &mut IdleTasks) {
    match run_group(sql, group) {
        DiskSpace::Enough => idle_tasks.written(sql),
        DiskSpace::Lacking => idle_tasks.make_room(sql),
    }
}

fn run_group(sql: &Sql<'_>, mut group: Vec<Box<dyn Job>>) -> DiskSpace {
    match attempt(sql, &mut group) {
        Attempt::Committed => {
            group.into_iter().for_each(|job| job.answer(Ok(())));
            DiskSpace::Enough
        }
        Attempt::Failed(error) => {
            group.into_iter().for_each(|job| job.answer(Err(error.for_another())));
            DiskSpace::after(&error)
        }
        // Its own failure is the answer.
        Attempt::Spoiled(space) if group.len() == 1 => {
            group.into_iter().for_each(|job| job.answer(Ok(())));
            space
        }
        Attempt::Spoiled(_) => {
            let spaces: Vec<DiskSpace> = group.into_iter().map(|job| run_group(sql, vec![job])).collect();
            if spaces.contains(&DiskSpace::Lacking) { DiskSpace::Lacking } else { DiskSpace::Enough }
        }
    }
}

fn attempt(sql: &Sql<'_>, group: &mut [Box<dyn Job>]) -> Attempt {
    if let Err(error) = sql.execute("BEGIN IMMEDIATE", []) {
        return Attempt::Failed(error.into());
    }
    for job in group {
        let before = sql.connection().total_changes();
        job.run(sql);
        let touched = sql.connection().total_changes() != before || sql.connection().is_autocommit();
        if let Some(error) = job.failure()
            && touched
        {
            let space = DiskSpace::after(error);
            roll_back(sql);
            return Attempt::Spoiled(space);
        }
    }
    match sql.execute("COMMIT", []) {
        Ok(_) => Attempt::Committed,
        Err(error) => {
            roll_back(sql);
            Attempt::Failed(error.into())
        }
    }
}

/// Runs an idle task in a transaction of its own.
pub(super) fn run_idle_task(sql: &Sql<'_>, idle_task: IdleTask) -> Result<bool, Error> {
    in_transaction(sql, idle_task)
}

/// Runs something in a transaction of its own.
pub(crate) fn in_transaction<T>(
    sql: &Sql<'_>,
    work: impl FnOnce(&Sql<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    sql.execute("BEGIN IMMEDIATE", [])?;
    let done = work(sql).and_then(|result| {
        sql.execute("COMMIT", [])?;
        Ok(result)
    });
    if done.is_err() {
        roll_back(sql);
    }
    done
}

fn roll_back(sql: &Sql<'_>) {
    // After some errors SQLite has rolled back by itself.
    if !sql.connection().is_autocommit()
        && let Err(error) = sql.execute("ROLLBACK", [])
    {
        tracing::error!(%error, "a transaction could not be rolled back");
    }
}
