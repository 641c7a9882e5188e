//! The engine with its tools and hooks. The order of the hooks is set here and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::hooks::{ApprovalRule, CommandRules, InputLimits, OutputCap, RedactOutput};
use aethon_agent::outbox::Bell;
use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_agent::{Engine, GuardedToolbox, Hooks, Options, Parts, ToolboxOptions};
use aethon_config::Config;
use aethon_config::schema::Sandbox;
use aethon_core::approval::ApprovalDesk;
use aethon_core::hook::Hook;
use aethon_core::model::ModelProvider;
use aethon_core::tool::Tool;
use aethon_core::usage::Budget;
use aethon_store::Store;
use aethon_tools::ShellOptions;

use crate::builder::Prepared;

pub(crate) fn engine(
    prepared: &Prepared,
    store: &Store,
    provider: Arc<dyn ModelProvider>,
    desk: &ApprovalDesk,
    bell: &Bell,
) -> Arc<Engine> {
    let (config, clock) = (&prepared.config, prepared.clock());
    let hooks = hooks(prepared);
    let toolbox = GuardedToolbox::new(
        tools(prepared),
        hooks.clone(),
        desk.clone(),
        prepared.bus.clone(),
        clock.clone(),
        ToolboxOptions { approval_timeout: Duration::from_secs(config.approval.timeout_seconds) },
    );
    let prompt = Prompt::new(PromptOptions { name: "Aethon".into(), workspace: prepared.home.workspace() });
    let parts = Parts {
        log: Arc::new(store.clone()),
        transcripts: Arc::new(store.clone()),
        ledger: Arc::new(store.clone()),
        prices: super::prices::prices(&config.budget),
        provider,
        toolbox: Arc::new(toolbox),
        hooks,
        prompt: Arc::new(prompt),
        bus: prepared.bus.clone(),
        clock,
        bell: bell.clone(),
    };
    Arc::new(Engine::new(parts, options(config)))
}

/// Every hook, in the one order: what may refuse comes first, what changes output next, what an embedder added last.
fn hooks(prepared: &Prepared) -> Hooks {
    let approval = &prepared.config.approval;
    let blocked = &prepared.config.security.blocked_commands;
    let built_in: [Arc<dyn Hook>; 5] = [
        Arc::new(InputLimits::default()),
        Arc::new(CommandRules::new(blocked, prepared.flags.user_home.as_deref())),
        Arc::new(ApprovalRule {
            enabled: approval.enabled,
            requires_approval: approval.requires_approval.clone(),
        }),
        Arc::new(RedactOutput(prepared.redactor())),
        Arc::new(OutputCap),
    ];
    Hooks::new(built_in.into_iter().chain(prepared.parts.hooks.iter().cloned()).collect())
}

fn tools(prepared: &Prepared) -> Vec<Arc<dyn Tool>> {
    let home = &prepared.home;
    let own =
        [home.config(), home.database(), home.credentials(), home.run(), home.recordings(), home.logs()];
    let options = aethon_tools::Options {
        workspace: home.workspace(),
        user_home: prepared.flags.user_home.clone(),
        workspace_only: prepared.config.security.workspace_only,
        own: own.into_iter().chain(prepared.file.clone()).collect(),
        shell: shell(prepared),
    };
    let built_in = aethon_tools::tools(&options, prepared.clock());
    built_in.into_iter().chain(prepared.parts.tools.iter().cloned()).collect()
}

/// Commands get what the person's own shell would have, and nothing else of this program's environment.
fn shell(prepared: &Prepared) -> ShellOptions {
    let usual = ShellOptions::default();
    let (config, flags) = (&prepared.config, &prepared.flags);
    let longest = Duration::from_secs(config.agent.turn_timeout_seconds);
    ShellOptions {
        sandbox: match config.security.sandbox {
            Sandbox::None => aethon_tools::Sandbox::None,
            Sandbox::Docker => aethon_tools::Sandbox::Docker,
        },
        timeout: usual.timeout.min(longest),
        max_timeout: longest,
        home: flags.user_home.clone(),
        path: flags.path.clone(),
        lang: flags.lang.clone(),
        tmpdir: flags.tmpdir.clone(),
    }
}

fn options(config: &Config) -> Options {
    Options {
        max_iterations: config.agent.max_iterations,
        turn_timeout: Duration::from_secs(config.agent.turn_timeout_seconds),
        max_retries: config.model.max_retries,
        loop_limit: usize::try_from(config.agent.loop_limit).unwrap_or(usize::MAX),
        max_tool_output_chars: config.agent.max_tool_output_chars,
        context_share: config.session.max_context_share,
        keep_recent: config.session.keep_recent,
        budget: Budget { daily_usd: config.budget.daily_usd, warn_ratio: config.budget.warn_ratio },
        ..Options::default()
    }
}
