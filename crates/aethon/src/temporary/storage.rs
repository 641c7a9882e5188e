//! The two storages, and the assembly of both into one.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::session::{Clear, Transcripts as _};
use aethon_core::storage::Storage;
use aethon_core::volatile::MemoryStore;

/// The most temporary sessions at a time, those of specialists included.
const MAX_SESSIONS: usize = 200;

/// How many bytes their messages may take before a new turn is refused.
const MAX_BYTES: usize = 128 << 20;

/// The lasting storage, with the one for temporary sessions before it.
pub(crate) struct Temporary {
    pub(super) lasting: Storage,
    pub(super) memory: MemoryStore,
}

/// Returns a storage that keeps temporary sessions in memory and everything else where it was; and the former.
pub(crate) fn with_temporary(lasting: Storage, clock: Arc<dyn Clock>) -> (Storage, Arc<Temporary>) {
    let both = Arc::new(Temporary { lasting: lasting.clone(), memory: MemoryStore::new(clock) });
    let mut storage = lasting;
    storage.turns = both.clone();
    storage.transcripts = both.clone();
    storage.history = both.clone();
    storage.audit = both.clone();
    storage.telemetry = both.clone();
    storage.workflows.agent_runs = both.clone();
    storage.workflows.sop_runs = both.clone();
    (storage, both)
}

impl Temporary {
    /// Returns whether a turn belongs to a temporary session.
    pub(super) fn has(&self, turn: &TurnId) -> bool {
        self.memory.has_turn(turn)
    }

    /// Refuses another turn when memory is short of room.
    pub(super) fn check_room(&self) -> Result<()> {
        let (sessions, bytes) = self.memory.size();
        if sessions < MAX_SESSIONS && bytes < MAX_BYTES {
            return Ok(());
        }
        Err(Error::full(
            "there is no room for more in temporary conversations; leave one, or begin a lasting one",
        ))
    }

    /// Removes a temporary session, with those in which specialists worked for it.
    pub(super) async fn end(&self, session: &SessionId) -> Result<bool> {
        let mut open = vec![session.clone()];
        let mut existed = false;
        while let Some(next) = open.pop() {
            open.extend(self.memory.sessions_of(next.as_str()));
            let was_there = self.memory.clear(&next, Clear::Delete).await?;
            self.memory.forget_runs(&next);
            existed |= was_there && next == *session;
        }
        Ok(existed)
    }
}
