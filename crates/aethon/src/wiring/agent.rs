//! Builds the engine with its tools and hooks. The order of the hooks is set here and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::hooks::{
    ApprovalRule, AutoRecall, CommandRules, InputLimits, MemorySecretGuard, OutputCap, RedactOutput,
    StripUntrustedMarkers, Taint, TemporaryBounds, WatchAgents,
};
use aethon_agent::outbox::DeliveryWake;
use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_agent::{Agent, Audit, Engine, Hooks, Meter, ModelDirectory, OpenApprovals, Options, Services};
use aethon_config::{Config, schema};
use aethon_core::approval::PendingApprovals;
use aethon_core::hook::{Hook, Review};
use aethon_core::instructions::Instructions;
use aethon_core::memory::Memory;
use aethon_core::model_choice::ModelChoices;
use aethon_core::storage::Storage;
use aethon_core::tool::ToolSource;
use aethon_guard::MemoryGuard;
use aethon_tools::{ChangedFiles, CommandRegistry, EndedCommands, KeptOutputs, PutBackNews, VerifyEdits};

use super::model::AgentModels;
use super::workflows::WorkflowParts;
use crate::prepared::Prepared;

/// The parts that the engine shares with the rest of the program.
pub(crate) struct EngineParts<'s> {
    pub(crate) models: AgentModels,
    pub(crate) meter: Meter,
    pub(crate) approvals: &'s PendingApprovals,
    pub(crate) wake: &'s DeliveryWake,
    /// The tool sources.
    pub(crate) tools: Vec<Arc<dyn ToolSource>>,
    /// The commands in the background.
    pub(crate) commands: CommandRegistry,
    /// The files that the tools have changed.
    pub(crate) files: ChangedFiles,
    /// SOPs, jobs, specialists and multi-turn work.
    pub(crate) workflows: &'s WorkflowParts,
    pub(crate) memory: Option<Arc<dyn Memory>>,
    /// Keeps secrets out of long-term memory.
    pub(crate) guard: MemoryGuard,
    /// Further instructions of the model whose changes are reported to the owner.
    pub(crate) instructions: Vec<Arc<dyn Instructions>>,
    /// Records turns, if enabled.
    pub(crate) recorder: Option<Arc<dyn Hook>>,
}

pub(crate) fn engine(prepared: &Prepared, storage: &Storage, parts: EngineParts<'_>) -> Arc<Engine> {
    let prompt = Arc::new(Prompt::new(PromptOptions {
        name: "Aethon".into(),
        workspace: prepared.home.workspace(),
        persona: None,
    }));
    let (shared, board) = (&prepared.shared, &parts.workflows.board);
    let leading = parts.models.models.leading().clone();
    shared.features.offer(crate::features::tools(parts.tools.clone(), leading));
    let folder = parts.workflows.specialists.clone();
    let crew = super::specialists::crew(prepared, &parts.models, &parts.tools, folder);
    let verify = super::verification::hook(prepared);
    let hooks = HookParts {
        guard: parts.guard,
        verify: verify.clone(),
        memory: parts.memory,
        workflows: parts.workflows,
        recorder: parts.recorder,
        outputs: super::tools::outputs(prepared, storage),
        commands: parts.commands,
        put_back: PutBackNews { files: parts.files, transcripts: storage.transcripts.clone() },
    };
    let (log, owners) = (storage.turns.clone(), storage.owners.clone());
    let mut services = Services::new(log, owners, storage.transcripts.clone(), parts.meter, prepared.clock());
    let review = verify.map(|verify| verify as Arc<dyn Review>);
    services.hooks = hooks.in_order(prepared).with_review(review);
    services.health = storage.health.clone();
    services.learned = parts.models.learned;
    shared.choices.set(parts.models.choices.clone().map(|choices| choices as Arc<dyn ModelChoices>));
    services.changes = Some(super::changes::changes(&prepared.home, prompt.clone(), parts.instructions));
    services.board = board.clone();
    services.open_approvals = OpenApprovals::new(parts.approvals.clone(), storage.channel_records.clone());
    services.audit = Audit(storage.audit.clone());
    services.bus = shared.bus.clone();
    services.wake = parts.wake.clone();
    services.documents = crate::documents::reader(&prepared.flags);
    let directory = parts.models.choices.map(|choices| choices as Arc<dyn ModelDirectory>);
    let agent = Agent::main(parts.models.models, prompt)
        .with_small(parts.models.small)
        .naming_conversations(prepared.config.session.generate_titles)
        .with_directory(directory)
        .with_tools(parts.tools);
    Arc::new(Engine::with_specialists(agent, crew, services, options(&prepared.config)))
}

/// The parts of the hooks that do not come from the configuration.
struct HookParts<'s> {
    /// Keeps secrets out of long-term memory.
    guard: MemoryGuard,
    /// Checks edits.
    verify: Option<Arc<VerifyEdits>>,
    memory: Option<Arc<dyn Memory>>,
    workflows: &'s WorkflowParts,
    recorder: Option<Arc<dyn Hook>>,
    outputs: KeptOutputs,
    commands: CommandRegistry,
    put_back: PutBackNews,
}

impl HookParts<'_> {
    /// All hooks in their fixed order. What each group has to precede is said beside it.
    fn in_order(self, prepared: &Prepared) -> Hooks {
        let (approval, security) = (&prepared.config.approval, &prepared.config.security);
        let board = &self.workflows.board;
        let built_in: [Arc<dyn Hook>; 13] = [
            Arc::new(prepared.shared.model_health.clone()),
            Arc::new(WatchAgents(board.clone())),
            Arc::new(InputLimits::default()),
            Arc::new(self.workflows.limits.clone()),
            Arc::new(CommandRules::new(&security.blocked_commands, prepared.flags.user_home.as_deref())),
            Arc::new(MemorySecretGuard(self.guard)),
            Arc::new(TemporaryBounds),
            Arc::new(ApprovalRule {
                enabled: approval.enabled,
                requires_approval: approval.requires_approval.clone(),
            }),
            Arc::new(RedactOutput(prepared.shared.redactor.clone())),
            Arc::new(OutputCap::keeping(Arc::new(self.outputs))),
            self.workflows.sops.hook(),
            // Behind those that refuse turns: a refused turn would take its news with it.
            Arc::new(EndedCommands(self.commands)),
            Arc::new(self.put_back),
        ];
        // Before `StripUntrustedMarkers`, which removes the markers that `Taint` looks for.
        let taint = security
            .taint_requires_approval
            .then(|| Arc::new(Taint::with_board(board.clone())) as Arc<dyn Hook>);
        let unmarked =
            (!security.mark_untrusted_content).then(|| Arc::new(StripUntrustedMarkers) as Arc<dyn Hook>);
        let after_built_in =
            [taint, unmarked, recall(&prepared.config.memory, self.memory)].into_iter().flatten();
        // Before the hooks that redact and truncate output, because the output of a check needs both.
        let verify = self.verify.map(|verify| verify as Arc<dyn Hook>);
        let brought = prepared.source.parts.hooks.iter().cloned();
        // The recorder must see the results of all others.
        let hooks =
            verify.into_iter().chain(built_in).chain(after_built_in).chain(brought).chain(self.recorder);
        Hooks::new(hooks.collect()).with_bounds(super::household::bounds(&prepared.config))
    }
}

/// The hook that shows relevant memories to the model, if enabled.
fn recall(options: &schema::Memory, memory: Option<Arc<dyn Memory>>) -> Option<Arc<dyn Hook>> {
    let memory = memory.filter(|_| options.auto_recall)?;
    Some(Arc::new(AutoRecall::new(memory, options.recall_top_k, options.recall_max_chars)))
}

fn options(config: &Config) -> Options {
    let mut options = Options::default();
    options.max_iterations = config.agent.max_iterations;
    options.turn_timeout = Duration::from_secs(config.agent.turn_timeout_seconds);
    options.max_retries = config.model.max_retries;
    options.loops.times = usize::try_from(config.agent.loop_limit).unwrap_or(usize::MAX);
    options.loops.polling = Duration::from_secs(config.agent.loop_minutes.saturating_mul(60));
    options.approval_timeout = Duration::from_secs(config.approval.timeout_seconds);
    options.max_tool_output_chars = config.agent.max_tool_output_chars;
    options.compaction.share = config.session.max_context_share;
    options.marks_files = config.security.mark_untrusted_content;
    options.searches_beside_outside_text = !config.security.taint_requires_approval;
    options.keep_recent = config.session.keep_recent;
    options
}
