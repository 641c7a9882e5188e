//! The engine with its tools and hooks. The order of the hooks is set here and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::hooks::{
    ApprovalRule, AutoRecall, CommandRules, InputLimits, NoSecretsKept, OutputCap, RedactOutput, Taint,
    Unmarked,
};
use aethon_agent::outbox::DeliveryWake;
use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_agent::{Agent, Engine, Hooks, Meter, Options, Services};
use aethon_config::Config;
use aethon_core::approval::PendingApprovals;
use aethon_core::hook::Hook;
use aethon_core::memory::{Memory, MemoryGuard};
use aethon_core::storage::Storage;
use aethon_core::tool::{FixedTools, ToolSource};
use aethon_tools::ShellOptions;

use super::model::AgentModels;
use crate::builder::Prepared;

/// What the engine shares with the rest of the program.
pub(crate) struct Common<'s> {
    pub(crate) models: AgentModels,
    pub(crate) meter: Meter,
    pub(crate) approvals: &'s PendingApprovals,
    pub(crate) wake: &'s DeliveryWake,
    pub(crate) guard: MemoryGuard,
    pub(crate) memory: Option<Arc<dyn Memory>>,
}

pub(crate) fn engine(prepared: &Prepared, storage: &Storage, common: Common<'_>) -> Arc<Engine> {
    let Common { models, meter, approvals, wake, guard, memory } = common;
    let prompt = Prompt::new(PromptOptions {
        name: "Aethon".into(),
        workspace: prepared.home.workspace(),
        seen: Some(prepared.home.run().join("pages.json")),
    });
    let agent = Agent::main(models.models, Arc::new(prompt)).with_small(models.small).with_tools(tools(
        prepared,
        storage,
        memory.clone(),
    ));
    let (log, owners) = (storage.turns.clone(), storage.owners.clone());
    let transcripts = storage.transcripts.clone();
    let mut services = Services::new(log, owners, transcripts, meter, prepared.clock());
    services.health = storage.health.clone();
    services.learned = models.learned;
    services.hooks = hooks(prepared, guard, memory);
    services.approvals = approvals.clone();
    services.bus = prepared.shared.bus.clone();
    services.wake = wake.clone();
    Arc::new(Engine::new(agent, services, options(&prepared.config)))
}

/// Every hook, in the one order: what may refuse comes first, what changes output next, what an embedder added last.
fn hooks(prepared: &Prepared, guard: MemoryGuard, memory: Option<Arc<dyn Memory>>) -> Hooks {
    let approval = &prepared.config.approval;
    let blocked = &prepared.config.security.blocked_commands;
    let built_in: [Arc<dyn Hook>; 6] = [
        Arc::new(InputLimits::default()),
        Arc::new(CommandRules::new(blocked, prepared.flags.user_home.as_deref())),
        Arc::new(NoSecretsKept(guard)),
        Arc::new(ApprovalRule {
            enabled: approval.enabled,
            requires_approval: approval.requires_approval.clone(),
        }),
        Arc::new(RedactOutput(prepared.shared.redactor.clone())),
        Arc::new(OutputCap),
    ];
    // Before the marks are taken off, because it goes by them.
    let taint = (prepared.config.security.taint_requires_approval)
        .then(|| Arc::new(Taint::default()) as Arc<dyn Hook>);
    let unmarked =
        (!prepared.config.security.mark_untrusted_content).then(|| Arc::new(Unmarked) as Arc<dyn Hook>);
    let last = [taint, unmarked, recall(prepared, memory)].into_iter().flatten();
    Hooks::new(built_in.into_iter().chain(last).chain(prepared.parts.hooks.iter().cloned()).collect())
}

/// What lets the model know what is remembered, where that is wanted.
fn recall(prepared: &Prepared, memory: Option<Arc<dyn Memory>>) -> Option<Arc<dyn Hook>> {
    let options = &prepared.config.memory;
    let memory = memory.filter(|_| options.auto_recall)?;
    Some(Arc::new(AutoRecall::new(memory, options.recall_top_k, options.recall_max_chars)))
}

/// Where tools come from: of two with the same name the built-in one counts.
fn tools(
    prepared: &Prepared,
    storage: &Storage,
    memory: Option<Arc<dyn Memory>>,
) -> Vec<Arc<dyn ToolSource>> {
    let home = &prepared.home;
    let own =
        [home.config(), home.database(), home.credentials(), home.run(), home.recordings(), home.logs()];
    let (webchat, security) = (&prepared.config.channels.webchat, &prepared.config.security);
    let mut options = aethon_tools::Options::default();
    options.home = Some(home.path().to_owned());
    options.workspace = home.workspace();
    options.user_home = prepared.flags.user_home.clone();
    options.workspace_only = security.workspace_only;
    options.own = own.into_iter().chain(prepared.file.clone()).collect();
    options.blocked_paths = security.blocked_paths.clone();
    options.allowed_paths = security.allowed_paths.clone();
    options.port = webchat.enabled.then_some(webchat.port);
    options.address_file = Some(home.address_file());
    options.shell = shell(prepared);
    let built_in = aethon_tools::tools(&options, prepared.clock(), storage.history.clone());
    let kept = aethon_tools::memory_tools(&options, prepared.clock(), memory);
    let sources = [("built-in", built_in), ("memory", kept), ("embedder", prepared.parts.tools.clone())];
    sources.into_iter().map(|(name, tools)| Arc::new(FixedTools::new(name, tools)) as _).collect()
}

/// Commands get what the person's own shell would have, and nothing else of this program's environment.
fn shell(prepared: &Prepared) -> ShellOptions {
    let mut options = ShellOptions::default();
    let (config, flags) = (&prepared.config, &prepared.flags);
    let longest = Duration::from_secs(config.agent.turn_timeout_seconds);
    options.sandbox = config.security.sandbox;
    options.timeout = options.timeout.min(longest);
    options.max_timeout = longest;
    options.home = flags.user_home.clone();
    options.path = flags.path.clone();
    options.lang = flags.lang.clone();
    options.tmpdir = flags.tmpdir.clone();
    options
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
    options.keep_recent = config.session.keep_recent;
    options
}
