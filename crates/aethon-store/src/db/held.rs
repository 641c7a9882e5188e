//! Jobs that nobody waits for, until the writer takes them along.
//!
//! A turn leaves several of them, and to wake a thread costs more than most of them do. So the writer is woken only when it
//! has gone to sleep for long; otherwise it comes by within moments by itself.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::writer::Job;
use crate::error::Error;

/// How long one is held when nothing else comes.
const HELD: Duration = Duration::from_millis(20);

/// So many are not held any longer.
const MANY: usize = 64;

/// The jobs, and whether the writer sleeps.
#[derive(Default)]
pub(super) struct Held(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    jobs: Vec<Box<dyn Job>>,
    is_asleep: bool,
    is_closed: bool,
}

impl Held {
    /// Adds one. Tells whether the writer has to be woken for it.
    pub(super) fn push(&self, job: Box<dyn Job>) -> Result<bool, Error> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Err(Error::closed());
        }
        inner.jobs.push(job);
        let is_many = inner.jobs.len() == MANY;
        Ok(std::mem::take(&mut inner.is_asleep) || is_many)
    }

    /// How long the writer may leave them be; `None` when there are none.
    pub(super) fn patience(&self) -> Option<Duration> {
        patience(&self.lock())
    }

    /// The same for a writer that sleeps until it is woken if there are none.
    pub(super) fn patience_before_sleep(&self) -> Option<Duration> {
        let mut inner = self.lock();
        let patience = patience(&inner);
        inner.is_asleep = patience.is_none();
        patience
    }

    /// All that there are, the oldest first; whoever takes them is awake.
    pub(super) fn take(&self) -> Vec<Box<dyn Job>> {
        let mut inner = self.lock();
        inner.is_asleep = false;
        std::mem::take(&mut inner.jobs)
    }

    /// Takes nothing any more, and gives what is left.
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
        1..MANY => Some(HELD),
        _ => Some(Duration::ZERO),
    }
}
