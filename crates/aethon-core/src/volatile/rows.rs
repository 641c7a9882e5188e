//! Rows of the in-memory storage that are no conversations.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::agents::AgentRun;
use crate::audit::AuditEntry;
use crate::learned::{ModelFact, ModelKey};
use crate::memory::{MemoryEntry, MemoryVersion};
use crate::schedule::{JobId, JobRecord, RunRecord};
use crate::sop::SopRun;
use crate::telemetry::StoredEvent;
use crate::work::Work;

/// A value of a channel, and its expiry.
pub(super) type Value = (String, Option<Timestamp>);

/// What the program notes about models and about itself.
#[derive(Default)]
pub(super) struct NotedTables {
    pub(super) learned: Vec<(ModelKey, ModelFact)>,
    pub(super) audit: Vec<AuditEntry>,
    pub(super) telemetry: Vec<StoredEvent>,
    pub(super) maintained_at: Option<Timestamp>,
}

/// The data of jobs and SOPs.
#[derive(Clone, Default)]
pub(super) struct JobTables {
    pub(super) jobs: BTreeMap<JobId, JobRecord>,
    /// What was due up to then has been seen.
    pub(super) seen_through: Option<Timestamp>,
    /// Oldest first.
    pub(super) runs: Vec<RunRecord>,
    /// Oldest first.
    pub(super) sop_runs: Vec<SopRun>,
}

/// A memory with everything that belongs to it.
#[derive(Clone)]
pub(super) struct MemoryRow {
    pub(super) entry: MemoryEntry,
    pub(super) history: Vec<MemoryVersion>,
    pub(super) vector: Option<(String, Vec<f32>)>,
}

/// The data of agents and work.
#[derive(Clone, Default)]
pub(super) struct WorkTables {
    /// Oldest first.
    pub(super) agent_runs: Vec<AgentRun>,
    /// Oldest first.
    pub(super) works: Vec<Work>,
    pub(super) switches: BTreeSet<String>,
}
