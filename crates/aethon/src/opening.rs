//! The four steps that open an assistant: storage, models, tools, engine. Each needs the ones before it.

use std::sync::Arc;

use aethon_agent::{Engine, Meter};
use aethon_core::approval::PendingApprovals;
use aethon_core::embed::Embedder;
use aethon_core::live::Live;
use aethon_core::memory::Memory;
use aethon_core::model::ModelProvider;
use aethon_core::storage::Storage;
use aethon_core::transcribe::Transcriber;
use aethon_guard::MemoryGuard;
use aethon_store::OpenMode;
use aethon_tools::ChangedFiles;
use aethon_workflows::{McpCommand, ModelCommand};

use crate::error::Result;
use crate::features::{self, MachineFacts};
use crate::file_changes::with_file_changes;
use crate::masked_audit::MaskedAudit;
use crate::memory::GuardedMemory;
use crate::prepared::Prepared;
use crate::temporary::{Temporary, with_temporary};
use crate::uploads::UploadFolder;
use crate::wiring;
use crate::wiring::agent::EngineParts;
use crate::wiring::channels::Deliveries;
use crate::wiring::model::AgentModels;
use crate::wiring::recorder::Recorded;
use crate::wiring::tools::Tools;
use crate::wiring::workflows::{WorkflowParts, Workflows};

/// The open storage, with its pending approvals and deliveries.
pub(crate) struct Stored {
    pub(crate) storage: Storage,
    /// The part of it that is kept in memory only.
    pub(crate) temporary: Arc<Temporary>,
    pub(crate) recorded: Recorded,
    /// What tools have changed of files.
    pub(crate) files: ChangedFiles,
    pub(crate) approvals: PendingApprovals,
    pub(crate) deliveries: Deliveries,
}

/// The models and services that are called, and the meter that books the calls.
pub(crate) struct ModelParts {
    pub(crate) meter: Meter,
    pub(crate) provider: Arc<dyn ModelProvider>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) transcriber: Option<Arc<dyn Transcriber>>,
}

/// The tools, and the parts that they share with the engine.
pub(crate) struct ToolParts {
    pub(crate) tools: Tools,
    pub(crate) memory: Option<GuardedMemory>,
    guard: MemoryGuard,
    workflows: WorkflowParts,
}

/// The first step: the storage, behind the recorder, which must see everything that is stored.
pub(crate) async fn storage(prepared: &Prepared, mode: OpenMode) -> Result<Stored> {
    prepared.home.prepare()?;
    let recorded = Recorded::open(prepared).await?;
    let storage = recorded.watch(wiring::store::storage(prepared, mode).await?);
    let (mut storage, temporary) = with_temporary(storage, prepared.clock());
    storage.audit = Arc::new(MaskedAudit { log: storage.audit, redactor: prepared.shared.redactor.clone() });
    let recorded = recorded.sharing(prepared, &storage);
    let (storage, files) = with_file_changes(prepared, storage);
    if mode == OpenMode::Daemon {
        wiring::tools::outputs(prepared, &storage).sweep();
        UploadFolder::new(prepared.home.uploads(), prepared.clock()).sweep();
    }
    let (approvals, deliveries) = (PendingApprovals::default(), Deliveries::default());
    Ok(Stored { storage, temporary, recorded, files, approvals, deliveries })
}

/// The second step: the models, which start with what earlier runs learned about them.
pub(crate) async fn models(prepared: &Prepared, storage: &Storage) -> (AgentModels, ModelParts) {
    let models = AgentModels::of(prepared, wiring::store::learned(storage).await);
    let (config, catalog) = (&prepared.config, &prepared.catalog);
    let (ledger, bus) = (storage.ledger.clone(), prepared.shared.bus.clone());
    let prices = wiring::prices::prices(config, catalog);
    let meter = wiring::prices::meter(&config.budget, prices, ledger, prepared.clock(), bus);
    let parts = ModelParts {
        provider: models.models.leading().clone(),
        embedder: wiring::embedding::embedder(prepared, storage, meter.clone()),
        transcriber: wiring::transcription::transcriber(config, catalog, &meter),
        meter,
    };
    (models, parts)
}

/// The third step: the tools, and the rows of everything so far on the feature board.
pub(crate) async fn tools(prepared: &Prepared, stored: &Stored, models: &ModelParts) -> Result<ToolParts> {
    let options = &prepared.config.memory;
    let guard = wiring::memory::guard(options, prepared.shared.redactor.clone())?;
    let memory = wiring::memory::memory(options, &stored.storage, guard.clone(), models.embedder.clone());
    let tools = Tools::of(
        prepared,
        &stored.storage,
        &stored.deliveries,
        Arc::new(stored.files.clone()),
        shared(memory.as_ref()),
    );
    let workflows = WorkflowParts::of(prepared, &stored.storage);
    let (board, config) = (&prepared.shared.features, Live::new(prepared.config.clone()));
    // A later row replaces an earlier one with the same id, so the rows of running parts follow those of the configuration.
    features::offer(board, config.clone(), MachineFacts::of(prepared).await);
    features::offer_parts(&prepared.shared, &models.provider, &stored.storage);
    board.offer(wiring::tools::features(tools.sets.clone()));
    if let Some(memory) = memory.clone() {
        features::offer_memory(board, config.clone(), memory);
    }
    stored.recorded.offer(board, config);
    crate::mcp::offer(board, &tools.servers);
    Ok(ToolParts { tools, memory, guard, workflows })
}

/// The fourth step: the engine, and the SOPs and jobs in front of it.
pub(crate) async fn engine(
    prepared: &Prepared,
    stored: &Stored,
    models: AgentModels,
    meter: Meter,
    parts: &ToolParts,
) -> Result<(Arc<Engine>, Workflows)> {
    let workflows = &parts.workflows;
    let engine = wiring::agent::engine(
        prepared,
        &stored.storage,
        EngineParts {
            models,
            meter,
            approvals: &stored.approvals,
            wake: &stored.deliveries.wake,
            tools: parts.tools.sources(prepared, workflows),
            commands: parts.tools.commands.clone(),
            files: stored.files.clone(),
            workflows,
            memory: shared(parts.memory.as_ref()),
            guard: parts.guard.clone(),
            instructions: wiring::changes::instructions(workflows, &parts.tools),
            recorder: stored.recorded.hook(),
        },
    );
    workflows.sops.load().await?;
    let choices = Arc::new(prepared.shared.choices.clone());
    let model = ModelCommand::new(choices, stored.storage.transcripts.clone());
    let mcp = McpCommand::new(parts.tools.servers.source());
    let workflows = workflows.clone().in_front_of(engine.clone(), model, mcp);
    Ok((engine, workflows))
}

fn shared(memory: Option<&GuardedMemory>) -> Option<Arc<dyn Memory>> {
    memory.map(|memory| Arc::new(memory.clone()) as Arc<dyn Memory>)
}
