//! A storage in memory that keeps to the contract of [`Storage`](crate::storage::Storage), and can be told to fail, to
//! wait, and to hold what a crash would have left.

mod history;
mod listing;
mod models;
mod outbox;
mod owners;
mod tables;
mod transcripts;
mod turn_log;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use self::tables::Tables;
use super::{Gate, ManualClock, MemoryEmbeddings, MemoryLedger};
use crate::channel::NewDelivery;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::ids::SessionId;
use crate::message::Message;
use crate::session::TurnRecord;
use crate::storage::Storage;

/// A storage in memory, as one owner of turns sees it.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    tables: Arc<Mutex<Tables>>,
    owner: u64,
    script: Mutex<Script>,
}

/// What a test has asked for, and what it may ask about.
#[derive(Default)]
struct Script {
    calls: Vec<&'static str>,
    failures: BTreeMap<&'static str, usize>,
    /// Where the end of a turn waits before it is stored.
    before_finish: Option<Gate>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::at(Timestamp::default())
    }
}

impl MemoryStore {
    /// An empty one in which it is always `now`.
    pub fn at(now: Timestamp) -> Self {
        Self::new(Arc::new(ManualClock::at(now)))
    }

    /// An empty one that takes the time from here.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tables: Arc::default(), owner: 0, script: Mutex::default() }
    }

    /// The same storage as another program sees it, which has opened it besides.
    #[must_use]
    pub fn beside(&self) -> Self {
        let owner = self.tables().next_owner();
        Self { clock: self.clock.clone(), tables: self.tables.clone(), owner, script: Mutex::default() }
    }

    /// The whole storage: this, a ledger and a cache of vectors, all in memory.
    pub fn storage(clock: Arc<dyn Clock>) -> Storage {
        Self::new(clock).into_storage()
    }

    /// The same of this one.
    pub fn into_storage(self) -> Storage {
        let (clock, store) = (self.clock.clone(), Arc::new(self));
        Storage {
            turns: store.clone(),
            owners: store.clone(),
            transcripts: store.clone(),
            outbox: store.clone(),
            history: store.clone(),
            models: store.clone(),
            upkeep: store,
            ledger: Arc::new(MemoryLedger::new(clock)),
            embeddings: Arc::new(MemoryEmbeddings::default()),
        }
    }

    /// The names of the methods that were called on it so far, `window` and `turn` included.
    pub fn calls(&self) -> Vec<&'static str> {
        self.script().calls.clone()
    }

    /// The deliveries of all finished turns.
    pub fn deliveries(&self) -> Vec<NewDelivery> {
        self.tables().deliveries.iter().map(|row| row.delivery.content.clone()).collect()
    }

    /// The live branch of a session.
    pub fn transcript(&self, session: &SessionId) -> Vec<Message> {
        self.tables().sessions.get(session).map(|session| session.messages.clone()).unwrap_or_default()
    }

    /// Lets the next `times` calls of `method` fail.
    pub fn fail(&self, method: &'static str, times: usize) {
        self.script().failures.insert(method, times);
    }

    /// Has the next end of a turn wait at this gate before it is stored.
    pub fn hold_finish(&self, gate: Gate) {
        self.script().before_finish = Some(gate);
    }

    /// Puts a turn in as a crash would have left it, with the messages that it had stored.
    pub fn leave_behind(&self, record: TurnRecord, messages: Vec<Message>) {
        self.tables().leave_behind(record, messages);
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the call of a method, and fails it where the test wants that.
    fn enter(&self, method: &'static str) -> Result<MutexGuard<'_, Tables>> {
        let mut script = self.script();
        script.calls.push(method);
        match script.failures.get_mut(method) {
            Some(times) if *times > 0 => {
                *times -= 1;
                Err(Error::internal(format!("{method} was told to fail")))
            }
            _ => Ok(self.tables()),
        }
    }
}
