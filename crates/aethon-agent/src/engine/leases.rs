//! What the storage says about the turns of other programs, and when their owners count as gone.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::session::TurnRecord;
use aethon_core::surface::Surface;
use tokio::time::Instant;

use crate::services::Services;
use aethon_core::patience::until_read;
use aethon_core::storage_log::log_storage;

/// How often a lease is renewed while it lasts. Three signs of life may be late without harm.
pub(super) const RENEWALS_PER_LEASE: u32 = 4;

/// Returns the watcher of a resumed turn.
pub(super) type Watchers = dyn Fn(&TurnRecord) -> Arc<dyn Surface> + Send + Sync;

/// How late a sign of life may come.
const LATE: Duration = Duration::from_secs(1);

/// What the storage says about the turns of other programs.
pub(super) struct Leases {
    services: Arc<Services>,
}

impl Leases {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Returns whether the turns of other programs in a session have been without a living owner for long enough.
    /// When the machine slept or its clock was set, every lease is over, and living programs renew theirs within a
    /// part of it.
    pub(super) async fn is_left(&self, session: &SessionId, since: &mut Option<Instant>) -> bool {
        if !self.orphaned().await.contains(session) {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed()
            >= self.services.owners.lease() / RENEWALS_PER_LEASE + LATE
    }

    /// Returns the sessions with turns whose owner seems to be gone.
    pub(super) async fn orphaned(&self) -> Vec<SessionId> {
        self.services.owners.orphaned().await.unwrap_or_else(|error| {
            log_storage("turns of programs that are gone could not be looked for; trying again", &error);
            Vec::new()
        })
    }

    /// Returns the open turns of a session in the order in which they were stored.
    pub(super) async fn order_of(&self, session: &SessionId) -> Vec<TurnId> {
        let pending = || self.services.transcripts.pending(session);
        let pending = until_read(
            "the order of waiting turns could not be read; trying again",
            &self.services.health,
            pending,
        )
        .await;
        let pending =
            pending.inspect_err(|error| log_storage("the order of waiting turns is unknown", error));
        pending.unwrap_or_default().into_iter().map(|record| record.turn).collect()
    }
}
