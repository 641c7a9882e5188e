//! Lets long answers finish one at a time.
//!
//! An answer exists once while it arrives. When it ends it is copied for a moment: into the reply, as JSON, into the
//! storage, into the last frame for each watcher. For a usual answer that is nothing; many answers of several megabytes
//! ending together would take most of a small machine's memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An answer of this many bytes is long.
const LONG: usize = 1 << 20;

/// The permit that long answers wait for.
pub(super) struct LargeReplyGate(Arc<Semaphore>);

impl Default for LargeReplyGate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl LargeReplyGate {
    /// Waits until an answer of this many bytes may end: at once, or after the long one before it, which takes no
    /// longer than the storage is retried.
    pub(super) async fn enter(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes < LONG {
            return None;
        }
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}
