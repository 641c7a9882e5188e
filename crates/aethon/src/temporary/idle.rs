//! Ends temporary sessions that were left without a word: a page that crashed says nothing.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::ids::SessionId;
use aethon_core::session::{Clear, Transcripts as _};
use aethon_core::shutdown::Shutdown;
use aethon_core::storage::{Retention, Upkeep as _};
use aethon_core::storage_log::log_storage;
use aethon_http::ws::Hub;
use jiff::SignedDuration;
use tokio::time::sleep;

use super::storage::Temporary;

/// How long a temporary session lasts that nobody uses or watches.
const IDLE: SignedDuration = SignedDuration::from_hours(1);

/// How often they are looked through.
const EVERY: Duration = Duration::from_secs(60);

/// Ends idle temporary sessions until shutdown.
pub(crate) async fn end_idle(
    temporary: Arc<Temporary>,
    assistant: Arc<dyn Assistant>,
    hub: Arc<Hub>,
    mut shutdown: Shutdown,
) {
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            () = sleep(EVERY) => {}
        }
        for session in temporary.idle(|session| hub.is_watched(session)).await {
            match assistant.clear(&session, Clear::Delete).await {
                Ok(_) => hub.forget(&session),
                Err(error) => log_storage("an idle temporary conversation is ended later", &error),
            }
        }
    }
}

impl Temporary {
    /// Returns the sessions to end. Those of specialists end with the ones that they work for.
    pub(super) async fn idle(&self, is_watched: impl Fn(&SessionId) -> bool) -> Vec<SessionId> {
        // What is left of those that have ended: ids of messages.
        let _ = self.memory.maintain(Retention::of_oneshots(u32::MAX)).await;
        let mut idle = Vec::new();
        for session in self.memory.idle_for(IDLE) {
            let is_done = self.memory.pending(&session).await.is_ok_and(|pending| pending.is_empty());
            if is_done && session.channel() == "webchat" && !is_watched(&session) {
                idle.push(session);
            }
        }
        idle
    }
}
