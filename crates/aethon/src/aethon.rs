//! A running assistant.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aethon_agent::Engine;
use aethon_config::Config;
use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::{self, Assistant};
use aethon_core::audit::AuditAction;
use aethon_core::background::BackgroundCommands;
use aethon_core::channel::{Channels, Outbox};
use aethon_core::clock::Clock;
use aethon_core::embed::Embedder;
use aethon_core::event::EventBus;
use aethon_core::feature::Feature;
use aethon_core::history::MessageQuery;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::Ledger;
use aethon_core::memory::Memory;
use aethon_core::message::{Inbound, Reply};
use aethon_core::model::ModelProvider;
use aethon_core::model_choice::{ModelChoices as _, OfferedModel};
use aethon_core::prompts::SavedPrompts;
use aethon_core::recording::Recordings;
use aethon_core::schedule::{JobRefusal, RunRecord, Schedule};
use aethon_core::session::{BinQuery, SessionQuery, Transcripts};
use aethon_core::sop::{SopCatalog, SopRunner};
use aethon_core::storage::Storage;
use aethon_core::surface::Unattended;
use aethon_core::usage::UsageReport;
use aethon_core::work::WorkBook;
use aethon_http::deps::Chat;
use aethon_http::json::{CommandList, Export, FilesAct, Format, Place, Shown};
use aethon_http::ws::Hub;
use aethon_store::OpenMode;
use aethon_tools::ToolSet;
use aethon_workflows::PromptFolder;
use aethon_workflows::schedule::{Scheduler, SchedulerParts};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::answer::{Answer, Attendance};
use crate::commands::CommandTask;
use crate::containers::ContainerTask;
use crate::error::{Error, Result};
use crate::file_copies;
use crate::home::Home;
use crate::memory::{GuardedMemory, VectorTask};
use crate::opening::{self, ModelParts, Stored, ToolParts};
use crate::prepared::{Prepared, Shared, Source};
use crate::reach::Reach;
use crate::runtime;
use crate::telemetry::{Collector, TelemetryTask};
use crate::temporary::Temporary;
use crate::typed_answer;
use crate::uploads::UploadFolder;
use crate::wiring;
use crate::wiring::channels::Deliveries;
use crate::wiring::recorder::Recorded;
use crate::wiring::tools::Tools;
use crate::wiring::workflows::Workflows;

/// How long shutdown waits for interrupted calls to be booked.
const LAST_BOOKINGS: Duration = Duration::from_secs(5);

/// How long shutdown waits for sandbox containers to be removed.
const LAST_CONTAINERS: Duration = Duration::from_secs(10);

/// A running assistant: the storage is open and the engine ready, but nothing listens.
///
/// End it with [`Aethon::shutdown`], which lets turns finish. If it is dropped instead, its turns are stopped in the background, as
/// far as the runtime still runs: the text so far is stored, its threads and files are released, and what was handed out
/// ([`Aethon::assistant`], say) accepts nothing more.
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
    /// Sentences describing the assistant's access to files and commands.
    pub(crate) reach: Arc<[String]>,
    /// The sources of its tools.
    pub(crate) tools: Tools,
}

/// The background tasks.
struct Background {
    memory: Option<MemoryParts>,
    telemetry: TelemetryTask,
    recorded: Recorded,
    temporary: Arc<Temporary>,
    /// Held only to keep the task alive.
    _copying: JoinSet<()>,
    /// Held only to keep the task alive.
    _containers: ContainerTask,
    /// Held only to keep the task alive.
    _commands: CommandTask,
    /// Runs what ends a dropped assistant.
    runtime: Handle,
    /// Whether it was shut down.
    is_closed: AtomicBool,
}

/// The memory, and the task that computes its vectors.
struct MemoryParts {
    memory: GuardedMemory,
    vectors: VectorTask,
}

impl Background {
    fn start(
        runtime: Handle,
        prepared: &Prepared,
        mode: OpenMode,
        stored: &Stored,
        parts: &ToolParts,
    ) -> Self {
        let (shared, telemetry) = (&prepared.shared, &prepared.config.telemetry);
        // Computing missing vectors is the daemon's job; a guest would do the work twice.
        let is_daemon = mode == OpenMode::Daemon;
        let memory = parts.memory.clone();
        let memory = memory.map(|memory| MemoryParts { vectors: memory.start(is_daemon), memory });
        shared.bus.telemetry().keep(telemetry.enabled);
        let (log, redactor) = (stored.storage.telemetry.clone(), shared.redactor.clone());
        Self {
            memory,
            telemetry: TelemetryTask::start(log, shared.bus.clone(), redactor, Collector::of(telemetry)),
            // A guest ends soon, and copies nothing but what it has recorded itself.
            _copying: if is_daemon { stored.recorded.copying(&shared.bus) } else { JoinSet::new() },
            recorded: stored.recorded.clone(),
            temporary: stored.temporary.clone(),
            _containers: ContainerTask::start(shared),
            _commands: CommandTask::start(shared, &parts.tools.commands, stored.storage.transcripts.clone()),
            runtime,
            is_closed: AtomicBool::new(false),
        }
    }
}

impl Prepared {
    /// Opens the storage and starts the engine.
    pub async fn open(self) -> Result<Aethon> {
        Aethon::open(self, OpenMode::Guest).await
    }
}

impl Aethon {
    pub(crate) async fn open(prepared: Prepared, mode: OpenMode) -> Result<Self> {
        let runtime = runtime::with_timers()?;
        let stored = opening::storage(&prepared, mode).await?;
        let (agent_models, models) = opening::models(&prepared, &stored.storage).await;
        let parts = opening::tools(&prepared, &stored, &models).await?;
        let meter = models.meter.clone();
        let (engine, workflows) = opening::engine(&prepared, &stored, agent_models, meter, &parts).await?;
        let aethon = Self {
            background: Background::start(runtime, &prepared, mode, &stored, &parts),
            clock: prepared.clock(),
            reach: prepared.reach().iter().map(Reach::sentence).collect(),
            home: prepared.home,
            config: prepared.config,
            is_demo: prepared.is_demo,
            source: prepared.source,
            shared: prepared.shared,
            storage: stored.storage,
            engine,
            workflows,
            models,
            approvals: stored.approvals,
            deliveries: stored.deliveries,
            tools: parts.tools,
        };
        if mode == OpenMode::Guest {
            // The daemon, not this program, recovers first and streams recovered turns to watchers.
            aethon.engine.watch(|_| Arc::new(Unattended));
            let hub = Arc::new(Hub::new(aethon.clock.clone()));
            aethon.deliveries.channels.set(aethon.channels(aethon.workflows.entry.clone(), hub)?);
        }
        Ok(aethon)
    }

    /// The channels. Those of a program running beside the daemon send and never receive.
    pub(crate) fn channels(&self, assistant: Arc<dyn Assistant>, hub: Arc<Hub>) -> Result<Channels> {
        let brought = &self.source.parts.channels;
        let others = wiring::messengers::with_brought(&self.config, &self.messenger_deps(), brought);
        wiring::channels::channels(&self.config, assistant, hub, &others)
            .map_err(|error| Error::refused(error.to_string()).because(error))
    }

    /// Sends a message to a session (`channel:name`) and waits for the reply. Approval requests are denied.
    pub async fn ask(&self, session: &str, text: impl Into<String>) -> Result<Arc<Reply>> {
        let session = SessionId::parse(session)?;
        Ok(assistant::ask(&*self.assistant(), Inbound::say(session, text), Arc::new(Unattended)).await?)
    }

    /// Sends a message to a session and waits for an answer of a type, whose JSON Schema goes with the message. An answer that does
    /// not fit it is given back to the model to correct. Approval requests are denied.
    ///
    /// Fails if the type's schema cannot be checked ([`AnswerSchema`](aethon_core::answer_schema::AnswerSchema) lists what can), or
    /// if the turn ends without an answer that fits.
    pub async fn ask_as<T>(&self, session: &str, text: impl Into<String>) -> Result<T>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let inbound =
            Inbound::say(SessionId::parse(session)?, text).with_schema(typed_answer::schema::<T>()?);
        let reply = assistant::ask(&*self.assistant(), inbound, Arc::new(Unattended)).await?;
        typed_answer::read(&reply)
    }

    /// Sends a message to a session and returns its answer while it is made, as a stream of events. Approval requests are denied.
    pub async fn ask_stream(&self, session: &str, text: impl Into<String>) -> Result<Answer> {
        self.stream(Inbound::say(SessionId::parse(session)?, text), Attendance::Unattended).await
    }

    /// The same for any message: with attachments, say, or with a reader who answers approval requests.
    pub async fn stream(&self, inbound: Inbound, attendance: Attendance) -> Result<Answer> {
        Answer::to(inbound, self.assistant(), attendance).await
    }

    /// Returns the single entry point for messages. A caller is about to send some, so this also starts the MCP servers in the
    /// background; turns wait for them for a few seconds.
    pub fn assistant(&self) -> Arc<dyn Assistant> {
        self.tools.servers.ask_people();
        self.tools.servers.start();
        self.workflows.entry.clone()
    }

    /// The catalogue of SOPs.
    pub fn sops(&self) -> Arc<dyn SopCatalog> {
        self.workflows.parts.sops.catalog()
    }

    /// The saved prompts.
    pub fn prompts(&self) -> Arc<dyn SavedPrompts> {
        Arc::new(PromptFolder::new(self.home.prompts()))
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

    /// The temporary conversations.
    pub(crate) fn temporary(&self) -> Arc<Temporary> {
        self.background.temporary.clone()
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

    /// The commands that run on in the background of conversations, in this program.
    pub fn background_commands(&self) -> Arc<dyn BackgroundCommands> {
        Arc::new(self.tools.commands.clone())
    }

    /// Returns the commands in the background of a session in the form of `GET /api/sessions/{id}/commands`.
    pub fn commands_document(&self, id: &SessionId) -> Value {
        json!(CommandList::of(&self.tools.commands, id))
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

    /// Sentences describing the assistant's access to files and commands.
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

    /// Returns the newest sessions of the bin, in the form of `GET /api/sessions/bin`.
    pub async fn bin_document(&self, limit: usize) -> Result<Value> {
        let query = BinQuery { limit, before: None };
        Ok(json!(aethon_http::json::bin(&self.unwatched_chat(), query).await?))
    }

    /// How many days a deleted session stays in the bin; 0 if it is deleted at once.
    pub fn bin_days(&self) -> u32 {
        self.config.session.bin_days
    }

    /// Returns the newest messages that contain all these words, in the form of `GET /api/search`.
    pub async fn found_document(
        &self,
        words: &str,
        session: Option<SessionId>,
        limit: usize,
    ) -> Result<Value> {
        let query = MessageQuery { words: words.to_owned(), session, before: None, limit };
        Ok(json!(aethon_http::json::found_messages(&*self.storage.history, query).await?))
    }

    /// Returns a session and its newest messages in the form of `GET /api/sessions/{id}`, or `None` if it does not exist.
    pub async fn session_document(&self, id: &SessionId, limit: usize) -> Result<Option<Value>> {
        match aethon_http::json::show(&self.unwatched_chat(), id, Place::End, limit).await? {
            Shown::Conversation(conversation) => Ok(Some(json!(conversation))),
            Shown::NoMessage | Shown::NoSession => Ok(None),
        }
    }

    /// Returns a whole session in the form of `GET /api/sessions/{id}/export`, or `None` if it does not exist.
    pub async fn export(&self, id: &SessionId, format: Format) -> Result<Option<String>> {
        match Export::open(self.transcripts(), id, format).await? {
            Some(export) => Ok(Some(export.whole().await?)),
            None => Ok(None),
        }
    }

    /// The same with the versions of answers and questions that are not part of the conversation now.
    pub async fn export_with_versions(&self, id: &SessionId, format: Format) -> Result<Option<String>> {
        match Export::open(self.transcripts(), id, format).await? {
            Some(export) => Ok(Some(export.with_versions(self.storage.history.clone()).whole().await?)),
            None => Ok(None),
        }
    }

    /// Returns the files that tools have changed since the beginning of a turn, in the form of
    /// `GET /api/sessions/{id}/file-changes`; `None` if there is no such session or turn.
    pub async fn file_changes_document(&self, id: &SessionId, from: &TurnId) -> Result<Option<Value>> {
        let changes = aethon_http::json::file_changes(&self.unwatched_chat(), id, Some(from)).await?;
        Ok(changes.ok().map(|changes| json!(changes)))
    }

    /// Puts files back, or undoes that, and returns what happened in the form of
    /// `POST /api/sessions/{id}/file-changes/undo`.
    pub async fn put_files_back(&self, id: &SessionId, act: FilesAct<'_>) -> Result<Value> {
        let done = aethon_http::json::put_files_back(&self.unwatched_chat(), id, act).await?;
        done.map(|done| json!(done)).map_err(|refusal| Error::failed(refusal.to_string()))
    }

    /// Returns the models that a conversation or a message may choose.
    pub async fn offered_models(&self) -> Vec<OfferedModel> {
        self.shared.choices.offered().await
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
        crate::audit::record(&*self.storage.audit, &*self.clock, action, subject, outcome).await
    }

    /// The conversations as the HTTP application serves them, with live updates through this hub.
    pub(crate) fn chat(&self, hub: Arc<Hub>) -> Chat {
        Chat {
            transcriber: self.models.transcriber.clone(),
            assistant: self.assistant(),
            transcripts: self.transcripts(),
            history: self.storage.history.clone(),
            uploads: Arc::new(self.uploads()),
            files: self.tools.files.clone(),
            approvals: self.approvals.clone(),
            choices: Arc::new(self.shared.choices.clone()),
            hub,
            commands: self.background_commands(),
            bin_days: self.config.session.bin_days,
        }
    }

    /// The files that wait for their messages.
    fn uploads(&self) -> UploadFolder {
        let copies = file_copies::copies(&self.config, &self.storage, self.clock.clone(), "uploads");
        UploadFolder::new(self.home.uploads(), self.clock.clone()).with_copies(copies)
    }

    /// The same, for callers without live watchers.
    fn unwatched_chat(&self) -> Chat {
        self.chat(Arc::new(Hub::new(self.clock.clone())))
    }

    /// Lets running turns finish within `grace`, stores their output so far, and closes the storage.
    pub async fn shutdown(&self, grace: Duration) {
        self.engine.shutdown(grace).await;
        self.close().await;
    }

    /// Finishes recordings, books interrupted calls, and closes the storage.
    pub(crate) async fn close(&self) {
        self.background.is_closed.store(true, Ordering::Release);
        self.tools.commands.close().await;
        self.background.recorded.close().await;
        if let Some(remembering) = &self.background.memory {
            remembering.vectors.stop().await;
        }
        self.tools.servers.stop().await;
        // A failing storage blocks these bookings; the next start books the amounts it finds reserved.
        if timeout(LAST_BOOKINGS, self.models.meter.ended()).await.is_err() {
            tracing::error!("some model calls could not be booked before the end");
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
    /// Lets go of the channels, which hold the engine, whose tools hold them; otherwise neither would ever end. A turn in progress
    /// would go on for nobody, so it is stopped.
    fn drop(&mut self) {
        self.deliveries.channels.set(Channels::default());
        if self.background.is_closed.load(Ordering::Acquire) {
            return;
        }
        self.tools.commands.abandon();
        let (engine, servers) = (self.engine.clone(), self.tools.servers.clone());
        // Nobody is left who could join the task. It ends with the runtime at the latest.
        self.background.runtime.spawn(async move {
            engine.shutdown(Duration::ZERO).await;
            servers.stop().await;
        });
    }
}
