//! The parts of the program that the application serves, supplied by the facade.
//!
//! They come in groups, so that a handler names only the one or two it works with. Each group is a few shared
//! pointers and cheap to clone.

use std::sync::Arc;

use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::Assistant;
use aethon_core::audit::{AuditLog, AuditTrail};
use aethon_core::background::BackgroundCommands;
use aethon_core::backup::Backups;
use aethon_core::channel::{Channels, Outbox};
use aethon_core::channel_setup::ChannelSetup;
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::feature::Features;
use aethon_core::file_changes::FileHistory;
use aethon_core::history::History;
use aethon_core::import::SessionImport;
use aethon_core::instance::InstanceList;
use aethon_core::ledger::Ledger;
use aethon_core::log::LogBook;
use aethon_core::memory::Memory;
use aethon_core::model::ModelProvider;
use aethon_core::model_choice::ModelChoices;
use aethon_core::model_setup::ModelSetup;
use aethon_core::pairing::Pairings;
use aethon_core::prompts::SavedPrompts;
use aethon_core::push::PushDevices;
use aethon_core::recording::Recordings;
use aethon_core::schedule::Schedule;
use aethon_core::service::ConfigView;
use aethon_core::session::Transcripts;
use aethon_core::shutdown::Shutdown;
use aethon_core::sop::{SopCatalog, SopRunner, SopRuns};
use aethon_core::storage::StorageHealth;
use aethon_core::telemetry::TelemetryLog;
use aethon_core::transcribe::Transcriber;
use aethon_core::upload::Uploads;
use aethon_core::work::WorkBook;

use crate::ws::Hub;

/// Everything that the application serves.
#[derive(Clone)]
pub struct Deps {
    /// Conversations.
    pub chat: Chat,
    /// Past and live activity.
    pub activity: Activity,
    /// Workflows and scheduled jobs.
    pub workflows: Workflows,
    /// Knowledge beyond a conversation.
    pub knowledge: Knowledge,
    /// The running parts and their configuration.
    pub setup: Setup,
    /// The clock, storage health, shutdown, and who else serves the storage.
    pub runtime: Runtime,
}

/// Conversations: sending messages, reading transcripts, deciding approvals.
#[derive(Clone)]
pub struct Chat {
    /// The single entry point for messages.
    pub assistant: Arc<dyn Assistant>,
    /// Stored conversations.
    pub transcripts: Arc<dyn Transcripts>,
    /// Search in them.
    pub history: Arc<dyn History>,
    /// Files that wait for their messages.
    pub uploads: Arc<dyn Uploads>,
    /// What tools have changed of files.
    pub files: Arc<dyn FileHistory>,
    /// Hears what a person dictates. `None` if no service for it is configured.
    pub transcriber: Option<Arc<dyn Transcriber>>,
    /// The pending approvals.
    pub approvals: PendingApprovals,
    /// The models that a conversation or a message may choose.
    pub choices: Arc<dyn ModelChoices>,
    /// The live conversations of the chat sockets.
    pub hub: Arc<Hub>,
    /// The commands in the background.
    pub commands: Arc<dyn BackgroundCommands>,
    /// How many days a deleted conversation stays in the bin; 0 deletes at once.
    pub bin_days: u32,
}

/// Past and live activity.
#[derive(Clone)]
pub struct Activity {
    /// Live events.
    pub bus: EventBus,
    /// The newest log records.
    pub logs: LogBook,
    /// Spending.
    pub ledger: Arc<dyn Ledger>,
    /// Allowed and refused actions.
    pub audit: Arc<dyn AuditLog>,
    /// The current and past work of agents.
    pub agents: AgentBoard,
    /// Telemetry.
    pub telemetry: Arc<dyn TelemetryLog>,
    /// Deliveries to channels that are waiting or were given up.
    pub outbox: Arc<dyn Outbox>,
    /// Adds the HTTP side's entries to the audit log.
    pub trail: AuditTrail,
}

/// Workflows and scheduled jobs.
#[derive(Clone)]
pub struct Workflows {
    /// The SOPs.
    pub sops: Arc<dyn SopCatalog>,
    /// The prompts that a person keeps.
    pub prompts: Arc<dyn SavedPrompts>,
    /// The runs of SOPs.
    pub sop_runs: Arc<dyn SopRuns>,
    /// Resumes a run that lost its turn.
    pub sop_runner: Arc<dyn SopRunner>,
    /// The scheduled jobs.
    pub schedule: Arc<dyn Schedule>,
    /// Multi-turn work.
    pub work: Arc<dyn WorkBook>,
}

/// Knowledge beyond a conversation.
#[derive(Clone, Default)]
pub struct Knowledge {
    /// Long-term memory, which refuses secrets. `None` if it is switched off.
    pub memory: Option<Arc<dyn Memory>>,
    /// Recordings of sessions. `None` if there is no place to keep them.
    pub archive: Option<Archive>,
}

/// Recordings of sessions, and the means to resume one.
#[derive(Clone)]
pub struct Archive {
    /// The recordings.
    pub recordings: Arc<dyn Recordings>,
    /// Creates a session from a recording.
    pub sessions: Arc<dyn SessionImport>,
}

/// The running parts and their configuration.
#[derive(Clone)]
pub struct Setup {
    /// The configuration with secrets masked.
    pub config: Arc<dyn ConfigView>,
    /// The model provider, for `/api/status`.
    pub provider: Arc<dyn ModelProvider>,
    /// Sets up the first model. `None` if the model is the program's own.
    pub first_model: Option<Arc<dyn ModelSetup>>,
    /// Tries messengers and sets them up.
    pub channel_setup: Arc<dyn ChannelSetup>,
    /// The running channels, including `webchat`.
    pub channels: Channels,
    /// The names of the messengers that the configuration knows, running or not.
    pub messengers: &'static [&'static str],
    /// People admitted to messengers by a code.
    pub pairings: Arc<dyn Pairings>,
    /// The assistant's reach: one sentence for each thing that it can read or run.
    pub reach: Arc<[String]>,
    /// The current state of the assistant's features.
    pub features: Features,
    /// The devices that are notified. `None` if `push.enabled` is off.
    pub push: Option<Arc<dyn PushDevices>>,
    /// Backups of the home. `None` if it keeps its data elsewhere.
    pub backups: Option<Arc<dyn Backups>>,
}

/// The clock, storage health and shutdown.
#[derive(Clone)]
pub struct Runtime {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Whether the storage accepts writes.
    pub health: StorageHealth,
    /// The request to shut down.
    pub shutdown: Shutdown,
    /// The daemons that serve the same storage.
    pub instances: InstanceList,
}
