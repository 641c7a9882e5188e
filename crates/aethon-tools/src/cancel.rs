//! Ends work on the blocking pool when its caller is gone.
//!
//! A thread cannot be stopped from outside, so long work looks at a flag now and then. The flag is set when the future that
//! waits for the work is dropped, which is what the end of a turn does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether work is to end. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Returns whether the caller is gone.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Cancels when dropped.
struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work on the blocking pool, and tells it when the returned future is dropped. `None` after a panic.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Cancelled) -> T + Send + 'static,
) -> Option<T> {
    let cancelled = Cancelled::default();
    let _guard = CancelOnDrop(cancelled.clone());
    tokio::task::spawn_blocking(move || work(&cancelled)).await.ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn abandoned_work_is_cancelled() {
        let (began, has_begun) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let work = tokio::spawn(blocking(move |cancelled| {
            let _ = began.send(());
            let until = Instant::now() + Duration::from_secs(60);
            while !cancelled.is_cancelled() && Instant::now() < until {
                std::thread::yield_now();
            }
            let _ = ended.send(cancelled.is_cancelled());
        }));
        has_begun.await.unwrap();
        work.abort();
        assert!(has_ended.await.unwrap());
        assert_eq!(blocking(|_| 1).await, Some(1));
    }
}
