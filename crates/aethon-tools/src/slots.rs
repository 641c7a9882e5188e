//! Places that all turns share, of which strangers never take the last ones ([`Share`]).

use std::sync::Arc;

use aethon_core::share::Share;
use aethon_core::turn::Trust;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct SharedSlots {
    all: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
    most: usize,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(crate) struct SharedSlot {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_strangers: Option<OwnedSemaphorePermit>,
}

impl SharedSlots {
    /// Creates this many places, and at least one.
    pub(crate) fn of(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let strangers = usize::try_from(Share::of_count(most).of_strangers()).unwrap_or(most);
        Self { all: Arc::new(Semaphore::new(most)), strangers: Arc::new(Semaphore::new(strangers)), most }
    }

    /// Waits for a place for a turn of this trust.
    pub(crate) async fn take(&self, trust: Trust) -> SharedSlot {
        // The semaphores are never closed.
        let of_strangers = match trust {
            Trust::Owner => None,
            Trust::Outside | Trust::Guest => self.strangers.clone().acquire_owned().await.ok(),
        };
        SharedSlot { _of_all: self.all.clone().acquire_owned().await.ok(), _of_strangers: of_strangers }
    }

    /// Returns how many there are.
    pub(crate) fn most(&self) -> usize {
        self.most
    }
}
