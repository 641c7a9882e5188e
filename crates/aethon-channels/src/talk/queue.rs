//! Runs futures one after the other while a connection is still being read.

use std::collections::VecDeque;
use std::future::pending;

use futures_util::future::BoxFuture;

/// A queue of futures of which only the first runs.
pub(crate) struct OrderedFutures<'f, T>(VecDeque<BoxFuture<'f, T>>);

impl<'f, T> OrderedFutures<'f, T> {
    pub(crate) fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Returns their number.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends one.
    pub(crate) fn push(&mut self, next: impl Future<Output = T> + Send + 'f) {
        self.0.push_back(Box::pin(next));
    }

    /// Returns the result of the first one, waiting forever if there is none. Cancel safe.
    pub(crate) async fn next(&mut self) -> T {
        let Some(first) = self.0.front_mut() else { return pending().await };
        let done = first.await;
        self.0.pop_front();
        done
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{sleep, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_second_waits_for_the_first_and_nothing_is_lost() {
        let mut queue = OrderedFutures::new();
        queue.push(async {
            sleep(Duration::from_secs(5)).await;
            1
        });
        queue.push(async { 2 });
        assert!(timeout(Duration::from_secs(3), queue.next()).await.is_err());
        assert_eq!((queue.len(), queue.next().await, queue.next().await), (2, 1, 2));
        assert!(timeout(Duration::from_secs(3), queue.next()).await.is_err());
    }
}
