//! The tasks that an engine has spawned, so that it can wait for them to end.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Counts the running tasks.
#[derive(Default)]
pub(crate) struct Tasks(Arc<Count>);

#[derive(Default)]
struct Count {
    running: AtomicUsize,
    none_left: Notify,
}

impl Tasks {
    /// Spawns a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        let guard = Running(self.0.clone());
        tokio::spawn(async move {
            let _guard = guard;
            task.await;
        });
    }

    /// Waits until no task is running.
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

/// A task that runs until it is ended.
#[derive(Default)]
pub(crate) struct BackgroundTask(Mutex<Option<JoinHandle<()>>>);

impl BackgroundTask {
    /// Starts it, unless it has been started before.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce() -> F) {
        let mut started = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if started.is_none() {
            *started = Some(tokio::spawn(task()));
        }
    }

    /// Ends it at its next await, and waits until it is gone.
    pub(crate) async fn end(&self) {
        let started = self.take();
        if let Some(task) = started {
            task.abort();
            // The task was aborted, so its error is expected.
            let _ = task.await;
        }
    }

    fn take(&self) -> Option<JoinHandle<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        if let Some(task) = self.take() {
            task.abort();
        }
    }
}
