//! The engine's state about other programs on the same storage; `watch`, `recover` and `elsewhere` work with it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aethon_core::ids::MessageId;
use aethon_core::session::TurnRecord;
use aethon_core::surface::{SessionWatchers, Surface};
use tokio::sync::Semaphore;

use crate::tasks::BackgroundTask;

/// How often a lease is renewed while it lasts. Three signs of life may be late without harm.
pub(super) const RENEWALS_PER_LEASE: u32 = 4;

/// Returns the watcher of a resumed turn.
pub(super) type Watchers = dyn Fn(&TurnRecord) -> Arc<dyn Surface> + Send + Sync;

/// The known state of the turns of other programs.
pub(super) struct PeerTurns {
    pub(super) onlookers: OnceLock<Arc<dyn SessionWatchers>>,
    /// Allows one poll at a time: after a completed poll, everything before it has been announced.
    pub(super) polling: Semaphore,
    /// Up to which message the ends of turns are known.
    through: Mutex<Option<MessageId>>,
    pub(super) task: BackgroundTask,
}

impl Default for PeerTurns {
    fn default() -> Self {
        let (onlookers, task) = (OnceLock::new(), BackgroundTask::default());
        Self { onlookers, polling: Semaphore::new(1), through: Mutex::default(), task }
    }
}

impl PeerTurns {
    /// Ends the polls.
    pub(super) async fn end(&self) {
        self.task.end().await;
    }

    pub(super) fn through(&self) -> Option<MessageId> {
        *self.through.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_through(&self, through: Option<MessageId>) {
        *self.through.lock().unwrap_or_else(PoisonError::into_inner) = through;
    }
}
