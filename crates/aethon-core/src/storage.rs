//! The storage contract: the promises of a backend to the engine, the pages and the maintenance tasks.
//!
//! [`Storage`] bundles the traits. A backend that implements all of them is passed as a whole by [`Storage::of`]; an
//! embedder may combine it with another ledger or another vector cache. What all backends have in common is proved by
//! one suite, `aethon_core::testkit::conformance` (feature `testkit`).
//!
//! Nothing in the contract assumes that backend and caller share a process:
//!
//! - **Durability.** A method that has returned `Ok` survives a crash of the caller. One that failed has changed
//!   nothing and may be called again. A failure that a retry may fix (a full disk, a file in use) is an error of the
//!   kind [`unavailable`](crate::error::Error::is_unavailable), and [`StorageHealth`] reports it to everybody until it
//!   is over. One that no retry fixes is also [`damaged`](crate::error::Error::is_damaged), and is never over.
//! - **One transaction.** [`TurnLog::finish`] writes messages, outcome, deliveries and the start of the next turn
//!   together or not at all. That is why [`TurnLog`], [`Transcripts`] and [`Outbox`] must be the same backend.
//! - **Order.** Ids of messages and of deliveries grow in the order in which they were stored. Within a session the
//!   engine calls one method at a time; calls for different sessions run concurrently.
//! - **Owners.** Each opened storage is one [owner](crate::owner) of turns. A session is written by one owner at a
//!   time, and a turn whose owner is gone is taken over by exactly one other. Deliveries and jobs are taken by one worker: of
//!   several daemons on one backend, the one that holds the [role](crate::instance). For the SQLite file, the lock of the
//!   home keeps a second daemon out.
//! - **Time** comes from the [`crate::clock::Clock`] that the backend was opened with; leases may count by its server's.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agents::AgentHistory;
use crate::audit::AuditLog;
use crate::channel::{ChannelRecords, Outbox};
use crate::embed::EmbeddingCache;
use crate::error::Result;
use crate::history::History;
use crate::import::SessionImport;
use crate::learned::ModelMemory;
use crate::ledger::Ledger;
use crate::memory::MemoryStorage;
use crate::owner::Owners;
use crate::schedule::{JobStore, RunLog};
use crate::session::{Transcripts, TurnLog};
use crate::sop::SopRuns;
use crate::telemetry::TelemetryLog;
use crate::words::setters;
use crate::work::WorkStore;

mod health;
pub mod rows;

pub use health::{FaultDuration, StorageFault, StorageHealth};

/// The stores for jobs, SOPs, agents and work. Cheap to clone; clones share it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Workflows {
    /// Scheduled jobs.
    pub jobs: Arc<dyn JobStore>,
    /// Their runs.
    pub job_runs: Arc<dyn RunLog>,
    /// SOP runs.
    pub sop_runs: Arc<dyn SopRuns>,
    /// What agents have done.
    pub agent_runs: Arc<dyn AgentHistory>,
    /// Work that takes more than one turn.
    pub work: Arc<dyn WorkStore>,
}

impl Workflows {
    /// Uses one backend for all of it.
    pub fn of<Backend>(backend: &Arc<Backend>) -> Self
    where
        Backend: JobStore + RunLog + SopRuns + AgentHistory + WorkStore + 'static,
    {
        Self {
            jobs: backend.clone(),
            job_runs: backend.clone(),
            sop_runs: backend.clone(),
            agent_runs: backend.clone(),
            work: backend.clone(),
        }
    }
}

/// All stores. Cheap to clone; clones share it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Storage {
    /// Turns, for the engine.
    pub turns: Arc<dyn TurnLog>,
    /// Who owns which turns.
    pub owners: Arc<dyn Owners>,
    /// Conversations, for people.
    pub transcripts: Arc<dyn Transcripts>,
    /// Pending deliveries.
    pub outbox: Arc<dyn Outbox>,
    /// What channels remember.
    pub channel_records: Arc<dyn ChannelRecords>,
    /// The cost of model calls, and the reservations of running ones.
    pub ledger: Arc<dyn Ledger>,
    /// Cached vectors.
    pub embeddings: Arc<dyn EmbeddingCache>,
    /// Full-text search in conversations, for the model.
    pub history: Arc<dyn History>,
    /// Facts learnt about models.
    pub models: Arc<dyn ModelMemory>,
    /// The audit log.
    pub audit: Arc<dyn AuditLog>,
    /// Long-term memory. It stores whatever it is given; secrets are refused before they reach it.
    pub memory: Arc<dyn MemoryStorage>,
    /// Scheduled jobs and runs.
    pub workflows: Workflows,
    /// Measurements.
    pub telemetry: Arc<dyn TelemetryLog>,
    /// Maintenance.
    pub upkeep: Arc<dyn Upkeep>,
    /// Whether it accepts writes. A backend that does not report this counts as healthy.
    pub health: StorageHealth,
}

impl Storage {
    /// Uses one backend for everything.
    pub fn of<Backend>(backend: Arc<Backend>) -> Self
    where
        Backend: TurnLog
            + Owners
            + Transcripts
            + Outbox
            + ChannelRecords
            + Ledger
            + EmbeddingCache
            + History
            + ModelMemory
            + AuditLog
            + MemoryStorage
            + JobStore
            + RunLog
            + SopRuns
            + AgentHistory
            + WorkStore
            + TelemetryLog
            + Upkeep
            + 'static,
    {
        Self {
            turns: backend.clone(),
            owners: backend.clone(),
            transcripts: backend.clone(),
            outbox: backend.clone(),
            channel_records: backend.clone(),
            ledger: backend.clone(),
            embeddings: backend.clone(),
            history: backend.clone(),
            models: backend.clone(),
            audit: backend.clone(),
            memory: backend.clone(),
            workflows: Workflows::of(&backend),
            telemetry: backend.clone(),
            upkeep: backend,
            health: StorageHealth::default(),
        }
    }

    /// Returns the importer of whole conversations.
    pub fn imports(&self) -> Arc<dyn SessionImport> {
        self.turns.clone()
    }

    setters! {
        /// Sets the health that the backend reports.
        pub fn with_health(health: StorageHealth);
        /// Uses another ledger.
        pub fn with_ledger(ledger: Arc<dyn Ledger>);
        /// Uses another long-term memory.
        pub fn with_memory(memory: Arc<dyn MemoryStorage>);
        /// Uses another vector cache.
        pub fn with_embeddings(embeddings: Arc<dyn EmbeddingCache>);
    }
}

/// Maintains the stored data.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Removes expired data, in small steps so that no caller waits for long. To be called a few times a day, in a
    /// quiet moment.
    async fn maintain(&self, retention: Retention) -> Result<Removed>;

    /// Removes the one-shot sessions beyond a limit, except those in use: first those of webhooks, and the least recently
    /// used ones before the others. A storage that holds little need not.
    async fn limit_oneshots(&self, _limit: OneshotLimit) -> Result<Oneshots> {
        Ok(Oneshots::default())
    }

    /// Returns the storage's memory of earlier runs of the program.
    async fn marks(&self) -> Result<StorageMarks>;

    /// Counts uptime for default limits that wait since an upgrade. A storage that is never upgraded need not.
    async fn note_uptime(&self, _uptime: Duration) -> Result<()> {
        Ok(())
    }

    /// Stores pending data and releases all resources. Every call afterwards fails. Data acknowledged before is
    /// safe even without this.
    async fn close(&self);
}

/// The storage's memory of earlier runs of the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageMarks {
    /// When [`Upkeep::maintain`] last completed; `None` if it never did.
    pub maintained_at: Option<Timestamp>,
    /// A time after which nothing was stored, up to a minute later than the last write. It never decreases, whatever
    /// the clock does, so that numbers derived from the time need not either.
    pub latest: Option<Timestamp>,
    /// For how much more uptime default limits wait that an upgrade brought: until then they remove and refuse nothing, and the
    /// owner is warned. `None` if they hold.
    pub defaults_wait: Option<Duration>,
}

/// How many days data is kept unless it is removed, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// One-shot sessions, counted from their last use.
    pub oneshots: u32,
    /// Single model calls (their sums stay) and measurements.
    pub calls: u32,
    /// The number of vectors; the least recently used are dropped.
    pub vectors: u32,
    /// Sessions in the bin.
    pub bin: u32,
}

impl Retention {
    /// Keeps one-shot sessions for this many days, and everything else without limit.
    pub const fn of_oneshots(days: u32) -> Self {
        Self { oneshots: days, calls: u32::MAX, vectors: u32::MAX, bin: u32::MAX }
    }

    /// Keeps single model calls and measurements for this many days.
    #[must_use]
    pub const fn with_calls(self, days: u32) -> Self {
        Self { calls: days, ..self }
    }

    /// Keeps sessions in the bin for this many days.
    #[must_use]
    pub const fn with_bin(self, days: u32) -> Self {
        Self { bin: days, ..self }
    }

    /// Keeps at most this many vectors.
    #[must_use]
    pub const fn with_vectors(self, most: u32) -> Self {
        Self { vectors: most, ..self }
    }
}

/// How much of one-shot sessions is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OneshotLimit {
    /// How many.
    pub sessions: u32,
    /// How many bytes of text they have together.
    pub bytes: u64,
}

impl OneshotLimit {
    /// Keeps this many, however large.
    pub const fn of(sessions: u32) -> Self {
        Self { sessions, bytes: u64::MAX }
    }

    /// Keeps this many bytes of them.
    #[must_use]
    pub const fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }
}

/// The result of [`Upkeep::limit_oneshots`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oneshots {
    /// How many there are now.
    pub left: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many were removed.
    pub removed: u64,
}

/// What [`Upkeep::maintain`] has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// One-shot sessions not used for long.
    pub sessions: usize,
    /// Deliveries settled long ago.
    pub deliveries: usize,
    /// Expired dedupe ids and posting keys.
    pub dedupe_ids: usize,
    /// Single model calls.
    pub calls: usize,
    /// Measurements.
    pub events: usize,
    /// The least recently used vectors.
    pub vectors: usize,
    /// Sessions of the bin.
    pub binned: usize,
}

impl std::ops::AddAssign for Removed {
    fn add_assign(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.deliveries += other.deliveries;
        self.dedupe_ids += other.dedupe_ids;
        self.calls += other.calls;
        self.events += other.events;
        self.vectors += other.vectors;
        self.binned += other.binned;
    }
}

/// The failures that an acknowledged write survives, if the backend offers a choice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Synchronous {
    /// A crash of the process.
    #[default]
    Normal,
    /// A loss of power.
    Full,
}

impl Synchronous {
    /// Their names in the configuration.
    pub const NAMES: [&'static str; 2] = ["normal", "full"];
}
