//! A running assistant.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{Engine, Meter};
use aethon_config::Config;
use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::{self, Assistant};
use aethon_core::audit::AuditAction;
use aethon_core::channel::{Channels, Outbox};
use aethon_core::clock::Clock;
use aethon_core::embed::Embedder;
use aethon_core::event::EventBus;
use aethon_core::feature::Feature;
use aethon_core::ids::SessionId;
use aethon_core::ledger::Ledger;
use aethon_core::live::Live;
use aethon_core::memory::Memory;
use aethon_core::message::{Inbound, Reply};
use aethon_core::model::ModelProvider;
use aethon_core::recording::Recordings;
use aethon_core::schedule::{JobRefusal, RunRecord, Schedule};
use aethon_core::session::{SessionQuery, Transcripts};
use aethon_core::sop::{SopCatalog, SopRunner};
use aethon_core::storage::Storage;
use aethon_core::surface::Unattended;
use aethon_core::transcribe::Transcriber;
use aethon_core::usage::UsageReport;
use aethon_core::work::WorkBook;
use aethon_http::deps::Chat;
use aethon_http::json::{Export, Format};
use aethon_http::ws::Hub;
use aethon_store::OpenMode;
use aethon_tools::ToolSet;
use aethon_workflows::schedule::{Scheduler, SchedulerParts};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::builder::{Prepared, Shared, Source};
use crate::containers::ContainerTask;
use crate::error::{Error, Result};
use crate::features::MachineFacts;
use crate::home::Home;
use crate::memory::{GuardedMemory, VectorTask};
use crate::reach::Reach;
use crate::telemetry::{Collector, TelemetryTask};
use crate::wiring;
use crate::wiring::channels::Deliveries;
use crate::wiring::model::AgentModels;
use crate::wiring::recorder::Recorded;
use crate::wiring::tools::Tools;
use crate::wiring::workflows::{WorkflowParts, Workflows};

/// How long shutdown waits for interrupted calls to be booked.
const LAST_BOOKINGS: Duration = Duration::from_secs(5);

/// How long shutdown waits for sandbox containers to be removed.
const LAST_CONTAINERS: Duration = Duration::from_secs(10);

/// A running assistant: the storage is open and the engine ready, but nothing listens.
pub struct Aethon {
    pub(crate) home: Home,
    pub(crate) config: Config,
    pub(crate) is_demo: bool,
    pub(crate) source: Source,
    pub(crate) shared: Shared,
    pub(crate) storage: Storage,
    pub(crate) engine: Arc<Engine>,
    /// SOPs and scheduled jobs, and the entry point that wraps the engine's.
    pub(crate) workflows: Workflows,
    pub(crate) models: ModelParts,
    background: Background,
    pub(crate) approvals: PendingApprovals,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) deliveries: Deliveries,
    /// Sentences describing what the assistant can read and run.
    pub(crate) reach: Arc<[String]>,
    /// The sources of its tools.
    pub(crate) tools: Tools,
}

/// The models and services that are called, and the meter that books the calls.
pub(crate) struct ModelParts {
    pub(crate) meter: Meter,
    pub(crate) provider: Arc<dyn ModelProvider>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) transcriber: Option<Arc<dyn Transcriber>>,
}

/// The background tasks.
struct Background {
    memory: Option<MemoryParts>,
    telemetry: TelemetryTask,
    recorded: Recorded,
    /// Held only to keep the task alive.
    _containers: ContainerTask,
}

/// The channels of a program running beside the daemon: they send and never receive.
fn guest_channels(
    prepared: &Prepared,
    door: Arc<dyn Assistant>,
    deps: &wiring::messengers::MessengerDeps,
) -> Result<Channels> {
    let hub = Arc::new(Hub::new(prepared.clock()));
    let others = wiring::messengers::with_brought(&prepared.config, deps, &prepared.parts.channels);
    wiring::channels::channels(&prepared.config, door, hub, &others)
        .map_err(|error| Error::refused(error.to_string()).because(error))
}

/// The memory, and the task that computes its vectors.
struct MemoryParts {
    memory: GuardedMemory,
    vectors: VectorTask,
}

impl Aethon {
    pub(crate) async fn open(prepared: Prepared, mode: OpenMode) -> Result<Self> {
        prepared.home.prepare()?;
        let clock = prepared.clock();
        let recorded = Recorded::open(&prepared).await?;
        let storage = recorded.watch(wiring::store::storage(&prepared, mode)?);
        let models = AgentModels::of(&prepared, wiring::store::learned(&storage).await);
        let meter = wiring::prices::meter(&prepared, &storage);
        let provider = models.models.leading().clone();
        let (approvals, deliveries) = (PendingApprovals::default(), Deliveries::default());
        let embedder = wiring::embedding::embedder(&prepared, &storage, meter.clone());
        let guard = wiring::memory::guard(&prepared)?;
        let memory = wiring::memory::memory(&prepared, &storage, embedder.clone())?;
        let shared_memory = memory.clone().map(|memory| Arc::new(memory) as Arc<dyn Memory>);
        let tools = Tools::of(&prepared, &storage, &deliveries, shared_memory.clone());
        let workflow_parts = WorkflowParts::of(&prepared, &storage);
        let facts = MachineFacts::of(&prepared).await;
        crate::features::offer(&prepared.shared.features, Live::new(prepared.config.clone()), facts);
        crate::features::offer_parts(&prepared.shared, &provider, &storage);
        prepared.shared.features.offer(wiring::tools::features(tools.sets.clone()));
        if mode == OpenMode::Daemon {
            wiring::tools::outputs(&prepared).sweep();
        }
        if let Some(memory) = memory.clone() {
            let config = Live::new(prepared.config.clone());
            crate::features::offer_memory(&prepared.shared.features, config, memory);
        }
        recorded.offer(&prepared.shared.features, Live::new(prepared.config.clone()));
        crate::mcp::offer(&prepared.shared.features, &tools.servers);
        let common = wiring::agent::Common {
            models,
            meter: meter.clone(),
            approvals: &approvals,
            wake: &deliveries.wake,
            tools: tools.sources(&prepared, &workflow_parts),
            sops: (workflow_parts.sops.hook(), workflow_parts.limits.clone()),
            board: workflow_parts.board.clone(),
            folder: workflow_parts.specialists.clone(),
            guard,
            memory: shared_memory,
            instructions: wiring::changes::instructions(&workflow_parts, &tools),
            recorder: recorded.hook(),
        };
        let engine = wiring::agent::engine(&prepared, &storage, common);
        workflow_parts.sops.load().await?;
        let workflows = workflow_parts.in_front_of(engine.clone());
        if mode == OpenMode::Guest {
            // The daemon, not this program, recovers first and streams recovered turns to watchers.
            engine.watch(|_| Arc::new(Unattended));
            // Guest channels never receive, so they have nothing to listen on.
            let programs = (&tools.programs, None);
            let own = (&clock, &prepared.shared.allowed_senders);
            let deps = wiring::messengers::deps(&storage, &approvals, &deliveries, programs, own);
            deliveries.channels.set(guest_channels(&prepared, workflows.entry.clone(), &deps)?);
        }
        // Computing missing vectors is the daemon's job; a guest would do the work twice.
        let (is_daemon, bus) = (mode == OpenMode::Daemon, prepared.shared.bus.clone());
        let memory = memory.map(|memory| MemoryParts { vectors: memory.start(is_daemon), memory });
        let containers = ContainerTask::start(&prepared.shared);
        bus.telemetry().keep(prepared.config.telemetry.enabled);
        let collector = Collector::of(&prepared.config.telemetry);
        let (log, redactor) = (storage.telemetry.clone(), prepared.shared.redactor.clone());
        let telemetry = TelemetryTask::start(log, bus, redactor, collector);
        let reach = prepared.reach().iter().map(Reach::sentence).collect();
        let transcriber = wiring::transcription::transcriber(&prepared, &meter);
        let Prepared { home, config, is_demo, source, shared, .. } = prepared;
        Ok(Self {
            home,
            config,
            is_demo,
            source,
            shared,
            storage,
            engine,
            workflows,
            models: ModelParts { meter, provider, embedder, transcriber },
            background: Background { memory, telemetry, recorded, _containers: containers },
            approvals,
            clock,
            deliveries,
            reach,
            tools,
        })
    }

    /// Sends a message to a session (`channel:name`) and waits for the reply. Approval requests are denied.
    pub async fn ask(&self, session: &str, text: impl Into<String>) -> Result<Arc<Reply>> {
        let session = SessionId::parse(session).map_err(|error| Error::failed(error.to_string()))?;
        Ok(assistant::ask(&*self.assistant(), Inbound::say(session, text), Arc::new(Unattended)).await?)
    }

    /// Returns the single entry point for messages. A caller is about to send some, so this also starts the MCP servers in the
    /// background; nothing waits for them.
    pub fn assistant(&self) -> Arc<dyn Assistant> {
        self.tools.servers.start();
        self.workflows.entry.clone()
    }

    /// The catalogue of SOPs.
    pub fn sops(&self) -> Arc<dyn SopCatalog> {
        self.workflows.parts.sops.catalog()
    }

    /// Multi-turn work. Callers can plan, pause and end it here; the daemon carries it out.
    pub fn work(&self) -> Arc<dyn WorkBook> {
        Arc::new(self.workflows.parts.works.clone())
    }

    /// The scheduled jobs. Those in the configuration are synced when the daemon starts.
    pub fn schedule(&self) -> Arc<dyn Schedule> {
        Arc::new(self.workflows.parts.book.clone())
    }

    /// Runs a scheduled job to completion. Its result is delivered by the daemon, now or once one runs.
    pub async fn run_job(&self, id: &str) -> std::result::Result<RunRecord, JobRefusal> {
        let schedule = self.schedule();
        let run = schedule.run(id).await?;
        let channels = (*self.deliveries.channels.get()).clone();
        let book = self.workflows.parts.book.clone();
        let parts = SchedulerParts { book, assistant: self.assistant(), channels };
        Scheduler::run_one(parts, run.clone()).await;
        let runs = schedule.runs(id, 10).await?;
        Ok(runs.into_iter().find(|ended| ended.run_id == run.run_id).unwrap_or(run))
    }

    /// The maximum duration of a turn.
    pub fn turn_timeout(&self) -> Duration {
        Duration::from_secs(self.config.agent.turn_timeout_seconds)
    }

    /// Replaces the stored jobs of the configuration by the current ones, as the daemon does when it starts.
    pub async fn take_over_jobs(&self) -> Result<()> {
        let configured = wiring::workflows::configured(&self.config);
        Ok(self.workflows.parts.book.take_over(configured).await?)
    }

    /// Resumes SOP runs whose turn was lost.
    pub fn sop_runner(&self) -> Arc<dyn SopRunner> {
        self.workflows.sops.clone()
    }

    /// What each agent is doing, and what agents have done.
    pub fn agents(&self) -> &AgentBoard {
        &self.workflows.parts.board
    }

    /// The storage.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The stored conversations.
    pub fn transcripts(&self) -> Arc<dyn Transcripts> {
        self.storage.transcripts.clone()
    }

    /// The record of spending.
    pub fn ledger(&self) -> Arc<dyn Ledger> {
        self.storage.ledger.clone()
    }

    /// Pending and abandoned deliveries. A delivery that is made due again is sent by the daemon.
    pub fn outbox(&self) -> Arc<dyn Outbox> {
        let (outbox, wake) = (self.storage.outbox.clone(), self.deliveries.wake.clone());
        Arc::new(wiring::deliveries::Waking { outbox, wake })
    }

    /// The pending approvals.
    pub fn approvals(&self) -> &PendingApprovals {
        &self.approvals
    }

    /// The live event bus.
    pub fn events(&self) -> &EventBus {
        &self.shared.bus
    }

    /// The first model in the order of preference.
    pub fn model(&self) -> &dyn ModelProvider {
        &*self.models.provider
    }

    /// The embedder configured in `memory.embedding`. Vectors are cached, so a text is paid for once; every call is booked in the
    /// ledger, and none is made when the day's budget is nearly used up.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.models.embedder.clone()
    }

    /// Sentences describing what the assistant can read and run.
    pub fn reach(&self) -> &[String] {
        &self.reach
    }

    /// The state of each feature, with the reason where one is unavailable.
    pub fn features(&self) -> Vec<Feature> {
        self.shared.features.now()
    }

    /// The built-in tools by set, including those that are unavailable here and why.
    pub fn tools(&self) -> &[ToolSet] {
        &self.tools.sets
    }

    /// Long-term memory, unless `memory.enabled` is off. It refuses to store secrets.
    pub fn memory(&self) -> Option<Arc<dyn Memory>> {
        self.background.memory.as_ref().map(|remembering| Arc::new(remembering.memory.clone()) as _)
    }

    /// The session recordings. New ones are made only while `session_recorder.enabled` is on.
    pub fn recordings(&self) -> Arc<dyn Recordings> {
        self.background.recorded.library()
    }

    /// The home directory.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the newest sessions containing these words, in the form of `GET /api/sessions`.
    pub async fn sessions_document(&self, search: &str, limit: usize) -> Result<Value> {
        let search = Some(search.trim().to_owned()).filter(|search| !search.is_empty());
        let query = SessionQuery::newest(limit).with_search(search);
        Ok(json!(aethon_http::json::list(&self.unwatched_chat(), query).await?))
    }

    /// Returns a session and its newest messages in the form of `GET /api/sessions/{id}`, or `None` if it does not exist.
    pub async fn session_document(&self, id: &SessionId, limit: usize) -> Result<Option<Value>> {
        let conversation = aethon_http::json::show(&self.unwatched_chat(), id, None, limit).await?;
        Ok(conversation.map(|conversation| json!(conversation)))
    }

    /// Returns a whole session in the form of `GET /api/sessions/{id}/export`, or `None` if it does not exist.
    pub async fn export(&self, id: &SessionId, format: Format) -> Result<Option<String>> {
        match Export::open(self.transcripts(), id, format).await? {
            Some(export) => Ok(Some(export.whole().await?)),
            None => Ok(None),
        }
    }

    /// Returns the usage of the last days in the form of `GET /api/usage`.
    pub async fn usage_document(&self, days: u32) -> Result<Value> {
        let budget = wiring::prices::limits(&self.config.budget);
        Ok(json!(UsageReport::read(&*self.storage.ledger, &budget, self.clock.now(), days).await?))
    }

    /// Returns the newest rows of the audit log in the form of `GET /api/audit`.
    pub async fn audit_document(&self, limit: usize) -> Result<Value> {
        Ok(json!({ "audit": self.storage.audit.newest(limit).await? }))
    }

    /// Records an action of the terminal in the audit log.
    pub async fn note(&self, action: AuditAction, subject: &str, outcome: &str) -> Result<()> {
        crate::audit::record(&*self.storage.audit, &*self.clock, (action, subject, outcome)).await
    }

    /// The conversations as the HTTP application serves them, with live updates through this hub.
    pub(crate) fn chat(&self, hub: Arc<Hub>) -> Chat {
        Chat {
            assistant: self.assistant(),
            transcripts: self.transcripts(),
            approvals: self.approvals.clone(),
            hub,
        }
    }

    /// The same, for callers without live watchers.
    fn unwatched_chat(&self) -> Chat {
        self.chat(Arc::new(Hub::new(self.clock.clone())))
    }

    /// Lets running turns finish within `grace`, stores what they produced so far, and closes the storage.
    pub async fn shutdown(&self, grace: Duration) {
        self.engine.shutdown(grace).await;
        self.close().await;
    }

    /// Finishes recordings, books interrupted calls, and closes the storage.
    pub(crate) async fn close(&self) {
        self.background.recorded.close().await;
        if let Some(remembering) = &self.background.memory {
            remembering.vectors.stop().await;
        }
        self.tools.servers.stop().await;
        // A failing storage blocks these bookings; the next start books the amounts it finds reserved.
        if timeout(LAST_BOOKINGS, self.models.meter.ended()).await.is_err() {
            tracing::error!("some model calls could not be written down before the end");
        }
        if let Some(docker) = &self.shared.docker
            && timeout(LAST_CONTAINERS, docker.close()).await.is_err()
        {
            tracing::warn!(
                "the containers of the sandbox were not removed in time; the next start removes them"
            );
        }
        self.background.telemetry.stop().await;
        self.storage.upkeep.close().await;
    }
}

impl Drop for Aethon {
    /// Lets go of the channels. They hold the engine, whose tools hold them; otherwise neither would ever end.
    fn drop(&mut self) {
        self.deliveries.channels.set(Channels::default());
    }
}
