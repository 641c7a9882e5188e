//! The tasks that an engine has started, so that it can wait for their end.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts the tasks that run.
#[derive(Default)]
pub(crate) struct Tasks(Arc<Count>);

#[derive(Default)]
struct Count {
    running: AtomicUsize,
    none_left: Notify,
}

impl Tasks {
    /// Starts a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        let guard = Running(self.0.clone());
        tokio::spawn(async move {
            let _guard = guard;
            task.await;
        });
    }

    /// Waits until no task runs.
    pub(crate) async fn ended(&self) {
        loop {
            let none_left = self.0.none_left.notified();
            if self.0.running.load(Ordering::Acquire) == 0 {
                return;
            }
            none_left.await;
        }
    }
}

struct Running(Arc<Count>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none_left.notify_waiters();
        }
    }
}
