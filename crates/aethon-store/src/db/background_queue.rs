//! Background jobs, which no caller waits for, queued until the writer picks them up.
//!
//! Every turn leaves several of them, and waking a thread costs more than most of them do. So a push wakes the writer
//! only if it is in a long sleep; otherwise it comes by within moments anyway.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::job::Job;
use crate::error::Error;

/// How long a job may wait if no other work arrives.
const MAX_DELAY: Duration = Duration::from_millis(20);

/// With this many jobs the writer is woken at once.
const WAKE_AT: usize = 64;

/// The queued jobs and whether the writer sleeps.
#[derive(Default)]
pub(super) struct BackgroundQueue(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    jobs: Vec<Box<dyn Job>>,
    is_asleep: bool,
    is_closed: bool,
}

impl BackgroundQueue {
    /// Adds a job. Returns whether the writer has to be woken for it.
    pub(super) fn push(&self, job: Box<dyn Job>) -> Result<bool, Error> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Err(Error::closed());
        }
        inner.jobs.push(job);
        let is_due = inner.jobs.len() == WAKE_AT;
        Ok(std::mem::take(&mut inner.is_asleep) || is_due)
    }

    /// Returns how long the writer may leave the jobs; `None` if there are none.
    pub(super) fn patience(&self) -> Option<Duration> {
        patience(&self.lock())
    }

    /// Like [`Self::patience`], but if there are no jobs also marks the writer as asleep, so that the next push wakes
    /// it.
    pub(super) fn patience_before_sleep(&self) -> Option<Duration> {
        let mut inner = self.lock();
        let patience = patience(&inner);
        inner.is_asleep = patience.is_none();
        patience
    }

    /// Takes all jobs, oldest first, and marks the writer as awake.
    pub(super) fn take(&self) -> Vec<Box<dyn Job>> {
        let mut inner = self.lock();
        inner.is_asleep = false;
        std::mem::take(&mut inner.jobs)
    }

    /// Refuses further jobs and returns those that are left.
    pub(super) fn close(&self) -> Vec<Box<dyn Job>> {
        let mut inner = self.lock();
        inner.is_closed = true;
        std::mem::take(&mut inner.jobs)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn patience(inner: &Inner) -> Option<Duration> {
    match inner.jobs.len() {
        0 => None,
        1..WAKE_AT => Some(MAX_DELAY),
        _ => Some(Duration::ZERO),
    }
}
