//! The parts of the program that the application serves, handed over by the facade.
//!
//! They come in groups of what belongs together, so that a handler names the one or two groups that it works with. Each
//! group is a handful of shared pointers and cheap to clone.

use std::sync::Arc;

use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::Assistant;
use aethon_core::audit::{AuditLog, AuditTrail};
use aethon_core::channel::{Channels, Outbox};
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::feature::Features;
use aethon_core::import::SessionImport;
use aethon_core::ledger::Ledger;
use aethon_core::log::LogBook;
use aethon_core::memory::Memory;
use aethon_core::model::ModelProvider;
use aethon_core::pairing::Pairings;
use aethon_core::recording::Recordings;
use aethon_core::schedule::Schedule;
use aethon_core::service::ConfigView;
use aethon_core::session::Transcripts;
use aethon_core::shutdown::Shutdown;
use aethon_core::sop::{SopCatalog, SopRunner, SopRuns};
use aethon_core::storage::StorageHealth;
use aethon_core::telemetry::TelemetryLog;
use aethon_core::work::WorkBook;

use crate::ws::Hub;

/// Everything that the application serves.
#[derive(Clone)]
pub struct Deps {
    /// Where conversations are had and looked up.
    pub chat: Chat,
    /// What happened, and what happens now.
    pub activity: Activity,
    /// Workflows and timed jobs.
    pub workflows: Workflows,
    /// What is known beyond a conversation.
    pub knowledge: Knowledge,
    /// What runs, and how it is set up.
    pub setup: Setup,
    /// The time, and the end of the program.
    pub runtime: Runtime,
}

/// Conversations: to speak, to read and to decide.
#[derive(Clone)]
pub struct Chat {
    /// The one door for messages.
    pub assistant: Arc<dyn Assistant>,
    /// What is kept of conversations.
    pub transcripts: Arc<dyn Transcripts>,
    /// The open questions.
    pub approvals: PendingApprovals,
    /// The live conversations of the chat sockets.
    pub hub: Arc<Hub>,
}

/// What happened, and what happens now.
#[derive(Clone)]
pub struct Activity {
    /// What happens, live.
    pub bus: EventBus,
    /// The newest log records.
    pub logs: LogBook,
    /// What was spent.
    pub ledger: Arc<dyn Ledger>,
    /// What was allowed and what was refused.
    pub audit: Arc<dyn AuditLog>,
    /// What each agent does, and what agents have done.
    pub agents: AgentBoard,
    /// What was measured.
    pub telemetry: Arc<dyn TelemetryLog>,
    /// What is on its way to channels, or was given up.
    pub outbox: Arc<dyn Outbox>,
    /// The way there for what the doors see.
    pub trail: AuditTrail,
}

/// Workflows and timed jobs.
#[derive(Clone)]
pub struct Workflows {
    /// The SOPs.
    pub sops: Arc<dyn SopCatalog>,
    /// What was run of them.
    pub sop_runs: Arc<dyn SopRuns>,
    /// Who takes up a run that has lost its turn.
    pub sop_runner: Arc<dyn SopRunner>,
    /// The timed jobs.
    pub schedule: Arc<dyn Schedule>,
    /// Work that takes more than one turn.
    pub work: Arc<dyn WorkBook>,
}

/// What is known beyond a conversation.
#[derive(Clone, Default)]
pub struct Knowledge {
    /// Long-term memory, which refuses secrets; `None` when it is switched off.
    pub memory: Option<Arc<dyn Memory>>,
    /// Recordings of sessions; `None` where there is no place for them.
    pub archive: Option<Archive>,
}

/// Recordings of sessions, and what a recording is gone on with.
#[derive(Clone)]
pub struct Archive {
    /// The recordings.
    pub recordings: Arc<dyn Recordings>,
    /// Where a session is made of one.
    pub sessions: Arc<dyn SessionImport>,
}

/// What runs, and how it is set up.
#[derive(Clone)]
pub struct Setup {
    /// The configuration as it may be shown.
    pub config: Arc<dyn ConfigView>,
    /// The model, for what `/api/status` tells of it.
    pub provider: Arc<dyn ModelProvider>,
    /// The channels that run, `webchat` among them.
    pub channels: Channels,
    /// Who was let in to the messengers by a code.
    pub pairings: Arc<dyn Pairings>,
    /// What the assistant can read and run, a sentence each.
    pub reach: Arc<[String]>,
    /// What it can do right now.
    pub features: Features,
}

/// The time, whether things can be stored, and the end of the program.
#[derive(Clone)]
pub struct Runtime {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Whether the storage takes what it is given.
    pub health: StorageHealth,
    /// The wish to stop.
    pub shutdown: Shutdown,
}
