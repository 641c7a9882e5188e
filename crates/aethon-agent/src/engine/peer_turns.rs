//! Announces the answers of other programs on the same storage to the watchers here.
//!
//! A turn reports to its watchers while it runs, but only in its own program. The answer to a terminal without a
//! daemon would be in the transcript and on no other screen. So this module polls for the ends of such turns, more
//! often while a session is watched, and once more before a turn begins behind messages that this program has not
//! seen: earlier answers are announced before it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::surface::{SessionWatchers, TurnEvent};
use tokio::time::sleep;

use super::beside::RENEWALS_PER_LEASE;
use super::shared::Shared;
use crate::storage_log::log_storage;

/// The interval between polls while a session is watched.
const POLL: Duration = Duration::from_millis(500);

impl Shared {
    /// Starts announcing the answers of other programs to these watchers.
    pub(super) fn start_announcing(self: &Arc<Self>, onlookers: Arc<dyn SessionWatchers>) {
        let seldom = self.services.owners.lease() / RENEWALS_PER_LEASE;
        if self.peer_turns.onlookers.set(onlookers).is_ok() {
            self.peer_turns.task.start(|| poll(Arc::downgrade(self), seldom));
        }
    }

    /// Announces the turns that other programs have ended since the last poll to the watchers. Returns whether any
    /// session is watched.
    pub(super) async fn poll_other_programs(&self) -> bool {
        let Some(onlookers) = self.peer_turns.onlookers.get() else { return false };
        // It is never closed.
        let _polling = self.peer_turns.polling.acquire().await;
        if let Err(error) = self.announce_ended(&**onlookers).await {
            log_storage("what other programs have said could not be looked for; trying again", &error);
        }
        onlookers.has_watchers()
    }

    async fn announce_ended(&self, onlookers: &dyn SessionWatchers) -> Result<()> {
        let ended = self.services.owners.ended_elsewhere(self.peer_turns.through()).await?;
        for (session, turn) in &ended.turns {
            self.announce_end_of(onlookers, session, turn).await?;
        }
        self.peer_turns.set_through(ended.through);
        Ok(())
    }

    async fn announce_end_of(
        &self,
        onlookers: &dyn SessionWatchers,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<()> {
        let Some(surface) = onlookers.watcher_of(session, turn) else { return Ok(()) };
        let reply = self.services.log.turn(turn).await?.and_then(|record| record.reply);
        if let Some(reply) = reply {
            surface.emit(turn, TurnEvent::Done(Arc::new(reply)));
        }
        Ok(())
    }
}

async fn poll(shared: Weak<Shared>, seldom: Duration) {
    loop {
        let Some(engine) = shared.upgrade() else { return };
        let has_watchers = engine.poll_other_programs().await;
        drop(engine);
        sleep(if has_watchers { POLL.min(seldom) } else { seldom }).await;
    }
}
