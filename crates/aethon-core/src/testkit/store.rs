//! An in-memory storage that follows the contract of [`Storage`](crate::storage::Storage). It can be made to fail, to
//! wait, and to contain what a crash would have left.

mod audit;
mod history;
mod import;
mod jobs;
mod keeping;
mod listing;
mod memory;
mod models;
mod outbox;
mod owners;
mod records;
mod tables;
mod telemetry;
mod transcripts;
mod turn_log;
mod upkeep;
mod work;

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
use crate::storage::{Storage, StorageHealth, Workflows};

/// An in-memory storage, as seen by one owner of turns.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    tables: Arc<Mutex<Tables>>,
    owner: u64,
    script: Mutex<Script>,
}

/// What a test has asked for, and what it may query.
#[derive(Default)]
struct Script {
    calls: Vec<&'static str>,
    failures: BTreeMap<&'static str, (usize, Failing)>,
    /// Whether all writes fail.
    is_out: bool,
    /// Where the end of a turn waits before it is stored.
    before_finish: Option<Gate>,
}

/// What a failure looks like.
#[derive(Clone, Copy)]
enum Failing {
    /// The storage is temporarily unavailable.
    Passing,
    /// The program has a bug.
    Fault,
}

/// The methods that write.
const WRITES: [&str; 10] =
    ["accept", "begin", "append", "finish", "settle", "rename", "clear", "post", "import", "mark_read"];

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

    /// An empty storage with this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tables: Arc::default(), owner: 0, script: Mutex::default() }
    }

    /// Returns the same storage as seen by another program that has it open too.
    #[must_use]
    pub fn beside(&self) -> Self {
        let owner = self.tables().next_owner();
        Self { clock: self.clock.clone(), tables: self.tables.clone(), owner, script: Mutex::default() }
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

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the call of a method, and makes it fail if the test wants that.
    fn enter(&self, method: &'static str) -> Result<MutexGuard<'_, Tables>> {
        let mut script = self.script();
        script.calls.push(method);
        if script.is_out && WRITES.contains(&method) {
            return Err(Error::unavailable("the storage was told to fail"));
        }
        match script.failures.get_mut(method) {
            Some((times, failing)) if *times > 0 => {
                *times -= 1;
                let message = format!("{method} was told to fail");
                Err(match failing {
                    Failing::Passing => Error::unavailable(message),
                    Failing::Fault => Error::internal(message),
                })
            }
            _ => Ok(self.tables()),
        }
    }
}
