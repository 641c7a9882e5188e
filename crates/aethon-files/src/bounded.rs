//! Reads files on the blocking pool, one piece of work at a time, and never waits for longer than a deadline.
//!
//! A local file system answers within microseconds. One on the network may not answer at all, and then a read cannot be
//! cancelled: it keeps its thread. So at most one thread is ever lost to it, nobody waits for that thread again until it
//! is back, and what was read last stays in force.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long anybody waits.
const DEADLINE: Duration = Duration::from_secs(2);

/// A place for one read at a time.
pub struct BoundedReads {
    /// For the log: what is read here.
    what: &'static str,
    place: Arc<Semaphore>,
    /// Whether a read is overdue.
    is_stuck: AtomicBool,
    deadline: Duration,
}

impl BoundedReads {
    /// Creates the place for reading this, in words for the log.
    pub fn new(what: &'static str) -> Self {
        Self {
            what,
            place: Arc::new(Semaphore::new(1)),
            is_stuck: AtomicBool::new(false),
            deadline: DEADLINE,
        }
    }

    /// Does this on the blocking pool; `None` if it takes too long. It may then still be done later.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let place = match self.place.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) if self.is_stuck.load(Ordering::Relaxed) => return None,
            Err(_) => match timeout(self.deadline, self.place.clone().acquire_owned()).await {
                Ok(place) => place.ok()?,
                Err(_) => return self.overdue(),
            },
        };
        let task = tokio::task::spawn_blocking(move || {
            let done = work();
            // Only now may the next one begin: an overdue read keeps the place for as long as it keeps the thread.
            drop(place);
            done
        });
        match timeout(self.deadline, task).await {
            Ok(Ok(done)) => {
                self.is_stuck.store(false, Ordering::Relaxed);
                Some(done)
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "{} could not be read because of a fault in the program", self.what);
                None
            }
            Err(_) => self.overdue(),
        }
    }

    fn overdue<T>(&self) -> Option<T> {
        if !self.is_stuck.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "{} cannot be read: the file system of the workspace does not answer; what was read before stays in force",
                self.what
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn hanging_file_system_costs_one_thread() {
        let reads = BoundedReads { deadline: Duration::from_millis(50), ..BoundedReads::new("a page") };
        assert_eq!(reads.run(|| 1).await, Some(1));
        let (let_go, held) = mpsc::channel::<()>();
        let hanging = reads.run(move || held.recv().is_err()).await;
        assert_eq!(hanging, None, "it is overdue");
        for _ in 0..1_000 {
            assert_eq!(reads.run(|| 2).await, None, "nothing else is begun meanwhile");
        }
        drop(let_go);
        while reads.run(|| 3).await.is_none() {
            tokio::task::yield_now().await;
        }
        assert!(!reads.is_stuck.load(Ordering::Relaxed), "it is as before");
    }
}
