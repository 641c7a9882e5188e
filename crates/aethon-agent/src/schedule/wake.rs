//! Waking the scheduler: it sleeps until the next job is due, and whoever makes one earlier rings.

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

    pub(super) async fn rung(&self) {
        self.0.notified().await;
    }
}
