//! Builds the engine with its tools and hooks. The order of the hooks is set here and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::hooks::{
    ApprovalRule, AutoRecall, CommandRules, InputLimits, NoSecretsKept, OutputCap, RedactOutput, Taint,
    Unmarked, WatchAgents,
};
use aethon_agent::outbox::DeliveryWake;
use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_agent::{Agent, Audit, Engine, Hooks, Meter, OpenQuestions, Options, Services};
use aethon_config::Config;
use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::hook::{Hook, Review};
use aethon_core::instructions::Instructions;
use aethon_core::memory::{Memory, MemoryGuard};
use aethon_core::storage::Storage;
use aethon_core::tool::ToolSource;
use aethon_tools::VerifyEdits;
use aethon_workflows::specialists::SpecialistFolder;
use aethon_workflows::work::WorkLimits;

use super::model::AgentModels;
use crate::builder::Prepared;

/// What the engine shares with the rest of the program.
pub(crate) struct Common<'s> {
    pub(crate) models: AgentModels,
    pub(crate) meter: Meter,
    pub(crate) approvals: &'s PendingApprovals,
    pub(crate) wake: &'s DeliveryWake,
    /// The tool sources.
    pub(crate) tools: Vec<Arc<dyn ToolSource>>,
    /// Keeps secrets out of long-term memory.
    pub(crate) guard: MemoryGuard,
    pub(crate) memory: Option<Arc<dyn Memory>>,
    /// The hook that updates SOP runs, and the limits that end multi-turn work.
    pub(crate) sops: (Arc<dyn Hook>, WorkLimits),
    /// The board of what each agent is doing.
    pub(crate) board: AgentBoard,
    /// The folder of specialists created at run time.
    pub(crate) folder: Option<Arc<SpecialistFolder>>,
    /// What instructs the model besides pages, for telling the owner of changes.
    pub(crate) instructions: Vec<Arc<dyn Instructions>>,
    /// Records turns, if enabled.
    pub(crate) recorder: Option<Arc<dyn Hook>>,
}

pub(crate) fn engine(prepared: &Prepared, storage: &Storage, common: Common<'_>) -> Arc<Engine> {
    let Common { models, meter, approvals, wake, tools, guard, memory, sops, board, folder, .. } = common;
    let (instructions, recorder) = (common.instructions, common.recorder);
    let prompt = Arc::new(Prompt::new(PromptOptions {
        name: "Aethon".into(),
        workspace: prepared.home.workspace(),
        persona: None,
    }));
    prepared.shared.features.offer(crate::features::tools(tools.clone()));
    let crew = super::specialists::crew(prepared, &models, (&tools, folder));
    let agent = Agent::main(models.models, prompt.clone()).with_small(models.small).with_tools(tools);
    let (log, owners) = (storage.turns.clone(), storage.owners.clone());
    let transcripts = storage.transcripts.clone();
    let mut services = Services::new(log, owners, transcripts, meter, prepared.clock());
    services.health = storage.health.clone();
    services.learned = models.learned;
    services.changes = Some(super::changes::changes(prepared, prompt, instructions));
    let verify = super::verification::hook(prepared);
    services.review = verify.clone().map(|verify| verify as Arc<dyn Review>);
    services.hooks = hooks(prepared, (guard, verify), memory, (sops, board.clone()), recorder);
    services.board = board;
    services.questions = OpenQuestions::new(approvals.clone(), storage.channel_records.clone());
    let (log, redactor) = (storage.audit.clone(), prepared.shared.redactor.clone());
    services.audit = Audit { log, redactor };
    services.bus = prepared.shared.bus.clone();
    services.wake = wake.clone();
    Arc::new(Engine::with_specialists(agent, crew, services, options(&prepared.config)))
}

/// All hooks in their fixed order: first those that may refuse, then those that change output, then the embedder's, and
/// the recorder last.
fn hooks(
    prepared: &Prepared,
    (guard, verify): (MemoryGuard, Option<Arc<VerifyEdits>>),
    memory: Option<Arc<dyn Memory>>,
    ((sops, work), board): ((Arc<dyn Hook>, WorkLimits), AgentBoard),
    recorder: Option<Arc<dyn Hook>>,
) -> Hooks {
    let approval = &prepared.config.approval;
    let blocked = &prepared.config.security.blocked_commands;
    let built_in: [Arc<dyn Hook>; 10] = [
        Arc::new(prepared.shared.model_health.clone()),
        Arc::new(WatchAgents(board.clone())),
        Arc::new(InputLimits::default()),
        Arc::new(work),
        Arc::new(CommandRules::new(blocked, prepared.flags.user_home.as_deref())),
        Arc::new(NoSecretsKept(guard)),
        Arc::new(ApprovalRule {
            enabled: approval.enabled,
            requires_approval: approval.requires_approval.clone(),
        }),
        Arc::new(RedactOutput(prepared.shared.redactor.clone())),
        Arc::new(OutputCap::keeping(Arc::new(super::tools::outputs(prepared)))),
        sops,
    ];
    // Before `Unmarked`, which removes the markers that `Taint` looks for.
    let taint = (prepared.config.security.taint_requires_approval)
        .then(|| Arc::new(Taint::with_board(board.clone())) as Arc<dyn Hook>);
    let unmarked =
        (!prepared.config.security.mark_untrusted_content).then(|| Arc::new(Unmarked) as Arc<dyn Hook>);
    let last = [taint, unmarked, recall(prepared, memory)].into_iter().flatten();
    // Before the hooks that redact and truncate output, because the output of a check needs both.
    let verify = verify.map(|verify| verify as Arc<dyn Hook>);
    let brought = prepared.parts.hooks.iter().cloned();
    // The recorder must see the results of all others.
    let hooks = verify.into_iter().chain(built_in).chain(last).chain(brought).chain(recorder);
    Hooks::new(hooks.collect()).with_bounds(super::household::bounds(&prepared.config))
}

/// The hook that shows relevant memories to the model, if enabled.
fn recall(prepared: &Prepared, memory: Option<Arc<dyn Memory>>) -> Option<Arc<dyn Hook>> {
    let options = &prepared.config.memory;
    let memory = memory.filter(|_| options.auto_recall)?;
    Some(Arc::new(AutoRecall::new(memory, options.recall_top_k, options.recall_max_chars)))
}

fn options(config: &Config) -> Options {
    let mut options = Options::default();
    options.max_iterations = config.agent.max_iterations;
    options.turn_timeout = Duration::from_secs(config.agent.turn_timeout_seconds);
    options.max_retries = config.model.max_retries;
    options.loop_limit = usize::try_from(config.agent.loop_limit).unwrap_or(usize::MAX);
    options.approval_timeout = Duration::from_secs(config.approval.timeout_seconds);
    options.max_tool_output_chars = config.agent.max_tool_output_chars;
    options.compaction.share = config.session.max_context_share;
    options.marks_files = config.security.mark_untrusted_content;
    options.keep_recent = config.session.keep_recent;
    options
}
