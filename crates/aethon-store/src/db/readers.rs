//! Reader threads: a small pool of read-only connections, started on demand and stopped when idle.
//!
//! Each job is one transaction, so it sees one snapshot of the database and never waits for the writer. The queue is
//! bounded: [`QUEUE_CAPACITY`] jobs may wait; further callers wait (asynchronously) for a slot.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use super::open::{Settings, open_current_reader};
use super::reading::ReadMode;
use super::sql::Sql;
use crate::error::Error;

/// Maximum number of reader threads.
const THREADS: usize = 2;

/// Capacity of the queue.
const QUEUE_CAPACITY: usize = 256;

/// How long a thread stays idle before it ends and frees its connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce(Result<&Sql<'_>, Error>) + Send>;

/// Handle to the reader threads.
pub(crate) struct Readers {
    slots: Semaphore,
    pool: Arc<Pool>,
}

/// State shared by the threads.
struct Pool {
    settings: Settings,
    workload: Mutex<Workload>,
    job_added: Condvar,
}

#[derive(Default)]
struct Workload {
    jobs: VecDeque<Job>,
    running: usize,
    idle: usize,
    closed: bool,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn new(settings: Settings) -> Self {
        let pool = Pool { settings, workload: Mutex::default(), job_added: Condvar::new() };
        Self { slots: Semaphore::new(QUEUE_CAPACITY), pool: Arc::new(pool) }
    }

    /// Runs a job on one snapshot of the database.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _slot = self.slots.acquire().await.map_err(|_| Error::closed())?;
        let (reply, answer) = oneshot::channel();
        self.pool.clone().add(Box::new(move |sql| {
            let result = sql.and_then(|sql| snapshot(sql, work));
            // A send error means that the caller is gone.
            let _ = reply.send(result);
        }))?;
        answer.await.map_err(|_| Error::closed())?
    }

    /// Refuses new jobs, finishes the queued ones, and ends the threads. Blocks.
    pub(crate) fn close(&self) {
        self.slots.close();
        let threads = {
            let mut workload = self.pool.lock();
            workload.closed = true;
            std::mem::take(&mut workload.threads)
        };
        self.pool.job_added.notify_all();
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread that reads the database panicked");
            }
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Workload> {
        self.workload.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: Arc<Self>, job: Job) -> Result<(), Error> {
        let mut workload = self.lock();
        if workload.closed {
            return Err(Error::closed());
        }
        if workload.jobs.len() >= workload.idle && workload.running < THREADS {
            let pool = self.clone();
            let work = move || pool.serve();
            let spawned = std::thread::Builder::new().name("store-reader".into()).spawn(work);
            match spawned {
                Ok(thread) => {
                    workload.threads.retain(|thread| !thread.is_finished());
                    workload.threads.push(thread);
                    workload.running += 1;
                }
                Err(error) if workload.running == 0 => return Err(Error::thread(error)),
                // A thread that already runs will take the job.
                Err(_) => {}
            }
        }
        workload.jobs.push_back(job);
        drop(workload);
        self.job_added.notify_one();
        Ok(())
    }

    fn serve(&self) {
        while let Some(job) = self.next() {
            let access = self.settings.reading.access();
            match open_current_reader(&self.settings, &access) {
                Ok(connection) if access.mode == ReadMode::Lasting => {
                    drop(access);
                    return self.serve_on(&Sql::new(&connection), job);
                }
                Ok(connection) => {
                    job(Ok(&Sql::new(&connection)));
                    // Before the database can be opened for writing.
                    drop(connection);
                    drop(access);
                }
                Err(error) => {
                    drop(access);
                    return self.fail(job, &error);
                }
            }
        }
    }

    /// Runs jobs on a connection that stays open, until the thread should end.
    fn serve_on(&self, sql: &Sql<'_>, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            job(Ok(sql));
            next = self.next();
        }
    }

    /// Fails the queued jobs and ends the thread, which is of no use without a connection.
    fn fail(&self, first: Job, error: &Error) {
        let jobs = {
            let mut workload = self.lock();
            workload.running -= 1;
            std::mem::take(&mut workload.jobs)
        };
        std::iter::once(first).chain(jobs).for_each(|job| job(Err(error.for_another())));
    }

    /// Returns the next job; `None` if the thread should end.
    fn next(&self) -> Option<Job> {
        let mut workload = self.lock();
        loop {
            if let Some(job) = workload.jobs.pop_front() {
                return Some(job);
            }
            if workload.closed {
                workload.running -= 1;
                return None;
            }
            workload.idle += 1;
            let (woken, waited) =
                self.job_added.wait_timeout(workload, IDLE_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            workload = woken;
            workload.idle -= 1;
            if waited.timed_out() && workload.jobs.is_empty() {
                workload.running -= 1;
                return None;
            }
        }
    }
}

/// Runs a job inside a transaction, which pins one snapshot of the database.
fn snapshot<T>(sql: &Sql<'_>, work: impl FnOnce(&Sql<'_>) -> Result<T, Error>) -> Result<T, Error> {
    sql.execute("BEGIN", [])?;
    let result = catch_unwind(AssertUnwindSafe(|| work(sql))).unwrap_or_else(|_| Err(Error::panicked()));
    if let Err(error) = sql.execute("ROLLBACK", []) {
        tracing::error!(%error, "a reading transaction could not be ended");
    }
    result
}
