//! What tests ask of the in-memory storage: to fail, to wait, to contain what a crash would have left, and to tell what
//! was called.

use std::sync::{Arc, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::script::{Failing, Script};
use super::store::MemoryStore;
use crate::channel::NewDelivery;
use crate::clock::Clock;
use crate::error::Result;
use crate::ids::SessionId;
use crate::message::Message;
use crate::session::TurnRecord;
use crate::storage::{Storage, StorageHealth, Workflows};
use crate::testkit::{Gate, ManualClock, MemoryEmbeddings, MemoryLedger};

impl Default for MemoryStore {
    fn default() -> Self {
        Self::at(Timestamp::default())
    }
}

impl MemoryStore {
    /// An empty storage in which it is always `now`.
    pub fn at(now: Timestamp) -> Self {
        Self::new(Arc::new(ManualClock::at(now)))
    }

    /// Returns a complete storage, with a ledger and a vector cache, all in memory.
    pub fn storage(clock: Arc<dyn Clock>) -> Storage {
        Self::new(clock).into_storage()
    }

    /// Makes a complete storage of this one.
    pub fn into_storage(self) -> Storage {
        let (clock, store) = (self.clock.clone(), Arc::new(self));
        Storage {
            turns: store.clone(),
            owners: store.clone(),
            transcripts: store.clone(),
            outbox: store.clone(),
            channel_records: store.clone(),
            history: store.clone(),
            models: store.clone(),
            audit: store.clone(),
            memory: store.clone(),
            workflows: Workflows::of(&store),
            telemetry: store.clone(),
            upkeep: store,
            health: StorageHealth::default(),
            ledger: Arc::new(MemoryLedger::new(clock)),
            embeddings: Arc::new(MemoryEmbeddings::default()),
        }
    }

    /// Returns the names of the methods called so far, `window` and `turn` included.
    pub fn calls(&self) -> Vec<&'static str> {
        self.script().calls.clone()
    }

    /// Returns the deliveries of all finished turns.
    pub fn deliveries(&self) -> Vec<NewDelivery> {
        self.tables().deliveries.iter().map(|row| row.delivery.content.clone()).collect()
    }

    /// Returns the live branch of a session.
    pub fn transcript(&self, session: &SessionId) -> Vec<Message> {
        self.tables().sessions.get(session).map(|session| session.messages.clone()).unwrap_or_default()
    }

    /// Makes the next `times` calls of `method` fail, as with a full disk.
    pub fn fail(&self, method: &'static str, times: usize) {
        self.script().failures.insert(method, (times, Failing::Passing));
    }

    /// Makes the next `times` calls of `method` fail, as with a bug.
    pub fn fault(&self, method: &'static str, times: usize) {
        self.script().failures.insert(method, (times, Failing::Fault));
    }

    /// Makes every write fail until [`Self::mend`]; reads continue to work.
    pub fn break_down(&self) {
        self.script().is_out = true;
    }

    /// Ends what [`Self::break_down`] began.
    pub fn mend(&self) {
        self.script().is_out = false;
    }

    /// Makes the next end of a turn wait at this gate before it is stored.
    pub fn hold_finish(&self, gate: Gate) {
        self.script().before_finish = Some(gate);
    }

    /// Inserts a turn as a crash would have left it, with the messages that it had stored.
    pub fn leave_behind(&self, record: TurnRecord, messages: Vec<Message>) {
        self.tables().leave_behind(record, messages);
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits where a test holds the end of a turn.
    pub(super) async fn wait_before_finish(&self) {
        let gate = self.script().before_finish.take();
        if let Some(gate) = gate {
            gate.pass().await;
        }
    }

    /// Notes the call of a method, and makes it fail if the test wants that.
    pub(super) fn follow_script(&self, method: &'static str) -> Result<()> {
        self.script().follow(method)
    }
}
