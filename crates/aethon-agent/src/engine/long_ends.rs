//! Long answers come to their end one after another.
//!
//! An answer exists once while it comes. When it ends it is copied for a moment: into the reply, as JSON, into the storage, into
//! the last frame of those who watch. For a usual answer that is nothing; for many of megabytes that end together it would be
//! most of the memory of a small machine.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many bytes make an answer long.
const LONG: usize = 1 << 20;

/// The turn that long answers wait for.
pub(super) struct LongEnds(Arc<Semaphore>);

impl Default for LongEnds {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl LongEnds {
    /// Lets an answer of so many bytes end: at once, or when the long one before it has ended, which is at most as long as the
    /// storage is tried.
    pub(super) async fn enter(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes < LONG {
            return None;
        }
        // It is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}
