//! A storage in memory that keeps to the contract of [`Storage`](crate::storage::Storage), and can be told to fail, to
//! wait, and to hold what a crash would have left.

mod audit;
mod history;
mod import;
mod jobs;
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
    failures: BTreeMap<&'static str, (usize, Failing)>,
    /// Whether nothing can be written.
    is_out: bool,
    /// Where the end of a turn waits before it is stored.
    before_finish: Option<Gate>,
}

/// What a failure is to look like.
#[derive(Clone, Copy)]
enum Failing {
    /// The storage is not available for a moment.
    Passing,
    /// The program has a fault.
    Fault,
}

/// The methods that store something.
const WRITES: [&str; 9] =
    ["accept", "begin", "append", "finish", "settle", "rename", "clear", "post", "import"];

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

    /// Lets the next `times` calls of `method` fail, as a full disk does.
    pub fn fail(&self, method: &'static str, times: usize) {
        self.script().failures.insert(method, (times, Failing::Passing));
    }

    /// Lets the next `times` calls of `method` fail, as a fault of the program does.
    pub fn fault(&self, method: &'static str, times: usize) {
        self.script().failures.insert(method, (times, Failing::Fault));
    }

    /// Lets every write fail until [`Self::mend`]; reading goes on.
    pub fn break_down(&self) {
        self.script().is_out = true;
    }

    /// Ends what [`Self::break_down`] began.
    pub fn mend(&self) {
        self.script().is_out = false;
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
