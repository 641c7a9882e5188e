//! Timed jobs: taking them in (`book`, `check`), deciding what is due (`watch`, `scheduler`), and running one (`work`).
//!
//! A run is an ordinary turn in a session of its own, through the same door as everything else, with nobody to ask. Who
//! runs what is decided by the storage, in one transaction; the turn carries the name of its run, so a run that a crash cut
//! off is the same turn when it is taken up again, and nothing is done twice.

mod book;
mod check;
mod scheduler;
mod watch;
mod work;

pub use book::{BookOptions, JobBook};
pub use scheduler::{Scheduler, SchedulerParts};

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes the scheduler. Cheap to clone; clones ring at the same one.
#[derive(Debug, Clone, Default)]
pub struct ScheduleWake(Arc<Notify>);

impl ScheduleWake {
    /// There is a job, or a run that somebody asked for.
    pub fn ring(&self) {
        self.0.notify_one();
    }

    async fn rung(&self) {
        self.0.notified().await;
    }
}
