//! The storage as one contract: what a backend promises to the engine, the pages and the upkeep.
//!
//! [`Storage`] bundles the traits. A backend that implements all of them is handed over whole by [`Storage::of`]; an
//! embedder may put another ledger or another cache of vectors beside it. What every backend has in common is proved by
//! one suite, `aethon_core::testkit::conformance` (feature `testkit`).
//!
//! Nothing in the contract assumes that backend and caller share a process:
//!
//! - **Durability.** A method that has returned `Ok` survives a crash of the caller. One that failed has changed nothing,
//!   and may be called again. A failure that calling again may mend (a full disk, a file in use) is an error of the kind
//!   [`unavailable`](crate::error::Error::is_unavailable), and [`StorageHealth`] tells it to everybody until it is over.
//! - **One transaction.** [`TurnLog::finish`] writes messages, outcome, deliveries and the start of the next turn together
//!   or not at all. That is why [`TurnLog`], [`Transcripts`] and [`Outbox`] must be the same backend.
//! - **Order.** Ids of messages and of deliveries grow in the order in which they were stored. Within a session the
//!   engine calls one method after the other; calls for different sessions come side by side.
//! - **Owners.** Each opened storage is one [owner](crate::owner) of turns. A session is written by one owner at a time,
//!   and a turn whose owner is gone is taken over by one other. Deliveries are taken by one worker: a backend that several
//!   daemons share keeps the second one out when it is opened (the lock of the home does so for the file of SQLite).
//! - **Time** comes from the [`crate::clock::Clock`] that the backend was opened with, and not from its server.

use std::sync::Arc;

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
use crate::work::WorkStore;

mod health;

pub use health::{StorageFault, StorageHealth};

/// What is kept of jobs, SOPs, agents and work. Cheap to clone; clones share it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Workflows {
    /// Timed jobs.
    pub jobs: Arc<dyn JobStore>,
    /// Their runs.
    pub job_runs: Arc<dyn RunLog>,
    /// Runs of SOPs.
    pub sop_runs: Arc<dyn SopRuns>,
    /// What agents have done.
    pub agent_runs: Arc<dyn AgentHistory>,
    /// Work that takes more than one turn.
    pub work: Arc<dyn WorkStore>,
}

impl Workflows {
    /// A backend that keeps all of it.
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

/// Everything that is kept. Cheap to clone; clones share it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Storage {
    /// Turns, for the engine.
    pub turns: Arc<dyn TurnLog>,
    /// Whose turns are whose.
    pub owners: Arc<dyn Owners>,
    /// Conversations, for people.
    pub transcripts: Arc<dyn Transcripts>,
    /// Deliveries that are under way.
    pub outbox: Arc<dyn Outbox>,
    /// What channels remember.
    pub channel_records: Arc<dyn ChannelRecords>,
    /// What model calls cost, and what is set aside for those under way.
    pub ledger: Arc<dyn Ledger>,
    /// Vectors that were paid for.
    pub embeddings: Arc<dyn EmbeddingCache>,
    /// Passages of conversations, for the model to look something up.
    pub history: Arc<dyn History>,
    /// What was learnt about models.
    pub models: Arc<dyn ModelMemory>,
    /// What was allowed and what was refused.
    pub audit: Arc<dyn AuditLog>,
    /// What is remembered beyond a conversation. It keeps whatever it is given: secrets are refused before it.
    pub memory: Arc<dyn MemoryStorage>,
    /// Timed jobs, and what was run.
    pub workflows: Workflows,
    /// What was measured.
    pub telemetry: Arc<dyn TelemetryLog>,
    /// Looking after all of it.
    pub upkeep: Arc<dyn Upkeep>,
    /// Whether it takes what it is given. A backend that does not tell counts as healthy.
    pub health: StorageHealth,
}

impl Storage {
    /// A backend that keeps everything.
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

    /// Whole conversations, made at once.
    pub fn imports(&self) -> Arc<dyn SessionImport> {
        self.turns.clone()
    }

    /// With the health that the backend tells.
    #[must_use]
    pub fn with_health(self, health: StorageHealth) -> Self {
        Self { health, ..self }
    }

    /// With the money elsewhere.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, ..self }
    }

    /// With the long-term memory elsewhere.
    #[must_use]
    pub fn with_memory(self, memory: Arc<dyn MemoryStorage>) -> Self {
        Self { memory, ..self }
    }

    /// With the vectors elsewhere.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Arc<dyn EmbeddingCache>) -> Self {
        Self { embeddings, ..self }
    }
}

/// Looking after what is kept.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Removes what has had its time, in pieces, so that nobody waits for long. For a quiet moment, a few times a day.
    async fn maintain(&self, retention: Retention) -> Result<Removed>;

    /// Removes the longest unused one-shot sessions beyond so many; those in use stay. A storage that keeps little need not.
    async fn limit_oneshots(&self, _most: u32) -> Result<Oneshots> {
        Ok(Oneshots::default())
    }

    /// What the storage remembers of earlier runs of the program.
    async fn marks(&self) -> Result<Marks>;

    /// Stores what waits and gives everything back. Whatever is asked afterwards fails. What was acknowledged before is
    /// safe without this.
    async fn close(&self);
}

/// What the storage remembers of earlier runs of the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// When [`Upkeep::maintain`] came to its end last; `None` if it never did.
    pub maintained_at: Option<Timestamp>,
    /// A time that nothing was stored after, up to a minute later than the last write. It never falls, whatever the clock
    /// does, so that numbers made of the time need not either.
    pub latest: Option<Timestamp>,
}

/// How long things are kept that nobody removes, in days, and how many of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// One-shot sessions, after their last use.
    pub oneshots: u32,
    /// Single model calls, whose sums stay for ever, and what was measured.
    pub calls: u32,
    /// Vectors, counted; the least recently used ones go.
    pub vectors: u32,
}

impl Retention {
    /// One-shot sessions for so many days, and everything else without end.
    pub const fn of_oneshots(days: u32) -> Self {
        Self { oneshots: days, calls: u32::MAX, vectors: u32::MAX }
    }

    /// Single model calls and what was measured for so many days.
    #[must_use]
    pub const fn with_calls(self, days: u32) -> Self {
        Self { calls: days, ..self }
    }

    /// At most so many vectors.
    #[must_use]
    pub const fn with_vectors(self, most: u32) -> Self {
        Self { vectors: most, ..self }
    }
}

/// What [`Upkeep::limit_oneshots`] found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oneshots {
    /// How many there are now.
    pub left: u64,
    /// How many were removed.
    pub removed: u64,
}

/// What [`Upkeep::maintain`] has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Sessions that were used once, long ago.
    pub sessions: usize,
    /// Deliveries that were settled long ago.
    pub deliveries: usize,
    /// Dedupe ids and keys of posts that count no more.
    pub dedupe_ids: usize,
    /// Single model calls.
    pub calls: usize,
    /// What was measured.
    pub events: usize,
    /// Vectors that were used least recently.
    pub vectors: usize,
}

/// What an acknowledged write survives, where a backend leaves the choice.
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
    /// The words for them in the configuration.
    pub const NAMES: [&'static str; 2] = ["normal", "full"];
}
