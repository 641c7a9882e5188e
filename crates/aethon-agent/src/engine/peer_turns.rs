//! Announces the answers of other programs on the same storage to the watchers here.
//!
//! A turn reports to its watchers while it runs, but only in its own program. The answer to a terminal without a
//! daemon would be in the transcript and on no other screen. So this module polls for the ends of such turns, more
//! often while a session is watched, and once more before a turn begins behind messages that this program has not
//! seen: earlier answers are announced before it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::surface::{SessionWatchers, TurnEvent};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::leases::RENEWALS_PER_LEASE;
use crate::services::Services;
use crate::tasks::BackgroundTask;
use aethon_core::storage_log::log_storage;

/// The interval between polls while a session is watched.
const POLL: Duration = Duration::from_millis(500);

/// Polls for the ends of turns that other programs run.
pub(super) struct PeerTurns {
    services: Arc<Services>,
    onlookers: OnceLock<Arc<dyn SessionWatchers>>,
    /// Allows one poll at a time: after a completed poll, everything before it has been announced.
    polling: Semaphore,
    /// Up to which message the ends of turns are known.
    through: Mutex<Option<MessageId>>,
    task: BackgroundTask,
}

impl PeerTurns {
    pub(super) fn new(services: Arc<Services>) -> Self {
        let (onlookers, task) = (OnceLock::new(), BackgroundTask::default());
        Self { services, onlookers, polling: Semaphore::new(1), through: Mutex::default(), task }
    }

    /// Ends the polls.
    pub(super) async fn end(&self) {
        self.task.end().await;
    }

    /// Starts announcing the answers of other programs to these watchers.
    pub(super) fn start(self: &Arc<Self>, onlookers: Arc<dyn SessionWatchers>) {
        let seldom = self.services.owners.lease() / RENEWALS_PER_LEASE;
        if self.onlookers.set(onlookers).is_ok() {
            self.task.start(|| keep_polling(Arc::downgrade(self), seldom));
        }
    }

    /// Announces the turns that other programs have ended since the last poll to the watchers. Returns whether any
    /// session is watched.
    pub(super) async fn poll(&self) -> bool {
        let Some(onlookers) = self.onlookers.get() else { return false };
        // It is never closed.
        let _polling = self.polling.acquire().await;
        if let Err(error) = self.announce_ended(&**onlookers).await {
            log_storage("what other programs have said could not be looked for; trying again", &error);
        }
        onlookers.has_watchers()
    }

    async fn announce_ended(&self, onlookers: &dyn SessionWatchers) -> Result<()> {
        let through = *self.through.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self.services.owners.ended_elsewhere(through).await?;
        for (session, turn) in &ended.turns {
            self.announce_end_of(onlookers, session, turn).await?;
        }
        *self.through.lock().unwrap_or_else(PoisonError::into_inner) = ended.through;
        Ok(())
    }

    async fn announce_end_of(
        &self,
        onlookers: &dyn SessionWatchers,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<()> {
        let Some(surface) = onlookers.watcher_of(session, turn) else { return Ok(()) };
        let reply = self.services.turns.turn(turn).await?.and_then(|record| record.reply);
        if let Some(reply) = reply {
            surface.emit(turn, TurnEvent::Done(Arc::new(reply)));
        }
        Ok(())
    }
}

async fn keep_polling(peers: Weak<PeerTurns>, seldom: Duration) {
    loop {
        let Some(peers) = peers.upgrade() else { return };
        let has_watchers = peers.poll().await;
        drop(peers);
        sleep(if has_watchers { POLL.min(seldom) } else { seldom }).await;
    }
}
