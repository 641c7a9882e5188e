//! Wakes the scheduler, which sleeps until the next job is due, when an earlier one is created.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes the scheduler. Cheap to clone; clones wake the same one.
#[derive(Debug, Clone, Default)]
pub struct ScheduleWake(Arc<Notify>);

impl ScheduleWake {
    /// Signals that there is a job, or a requested run.
    pub fn ring(&self) {
        self.0.notify_one();
    }

    pub(super) async fn rung(&self) {
        self.0.notified().await;
    }
}
