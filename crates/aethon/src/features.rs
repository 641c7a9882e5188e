//! The abilities of the assistant right now, as rows for `/api/features` and `doctor`.
//!
//! [`configured`] derives each feature's row from the configuration and the machine; `doctor` shows these, because nothing
//! runs there. In a running assistant, parts that know better report to the same board, and their row replaces the one with
//! the same id. A new feature adds its row here, and a source if it can fail at run time.

use std::sync::Arc;

use aethon_agent::hooks::OUTBOUND;
use aethon_config::Config;
use aethon_core::channel::{ChannelState, ChannelStatus, Channels};
use aethon_core::feature::{Feature, FeatureSource, FeatureState, Features};
use aethon_core::live::Live;
use aethon_core::model::{ModelProvider, Readiness};
use aethon_core::sandbox::Sandbox;
use aethon_core::storage::{Storage, StorageHealth};
use aethon_core::tool::{ToolSource, ToolSpec};
use aethon_tools::Protection;

use crate::memory::GuardedMemory;
use crate::prepared::{Prepared, Shared};
use crate::wiring;

/// Facts about the machine and the program beyond the configuration.
#[derive(Debug, Clone)]
pub(crate) struct MachineFacts {
    /// Whether only this machine reaches the listener.
    is_near: bool,
    protection: Protection,
    unpriced: Vec<String>,
}

impl MachineFacts {
    pub(crate) async fn of(prepared: &Prepared) -> Self {
        let host = &prepared.config.channels.webchat.host;
        let is_near = matches!(aethon_http::is_loopback_host(host).await, Ok(true));
        Self {
            is_near,
            protection: Protection::of_this_machine(),
            unpriced: wiring::unpriced::models(prepared).await,
        }
    }
}

/// Derives each feature's row from the configuration, in display order.
pub(crate) fn configured(config: &Config, facts: &MachineFacts) -> Vec<Feature> {
    let mut rows = vec![
        model(config),
        budget(config, facts),
        storage(None),
        Feature::on("tools", "Tools", "the built-in tools", "runtime_tools.enabled"),
        shell(config, facts),
        runtime_tools(config),
        specialists(config),
        work(config),
        ambient(config),
        verification(config),
        approvals(config),
        webchat(config),
        dashboard(config),
        webhooks(config, facts),
        scheduler(config),
        memory(config),
        wiring::transcription::feature(config),
        wiring::household::feature(config),
        wiring::recorder::feature(config),
        telemetry(config),
        crate::mcp::configured(config),
    ];
    rows.extend(wiring::web::features(config));
    rows.extend(crate::messengers::configured(config));
    rows
}

/// Puts the configured features on the board; they are derived again each time the board is read.
pub(crate) fn offer(board: &Features, config: Live<Config>, facts: MachineFacts) {
    board.offer(move || configured(&config.get(), &facts));
}

/// Puts what only a running assistant knows on the board: whether the model is set up, and whether the storage works.
pub(crate) fn offer_parts(shared: &Shared, provider: &Arc<dyn ModelProvider>, kept: &Storage) {
    let (provider, health) = (provider.clone(), kept.health.clone());
    let answers = shared.model_health.clone();
    shared
        .features
        .offer(move || vec![running_model(&*provider, answers.fault().as_deref()), storage(Some(&health))]);
}

/// The row of the available tools, and those of them that the model's service does not get.
pub(crate) fn tools(
    sources: Vec<Arc<dyn ToolSource>>,
    provider: Arc<dyn ModelProvider>,
) -> impl FeatureSource {
    move || {
        let snapshots: Vec<_> = sources.iter().map(|source| source.tools()).collect();
        let tools = snapshots.iter().flat_map(|snapshot| snapshot.tools.iter());
        let specs: Vec<ToolSpec> = tools.map(|tool| tool.spec().clone()).collect();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let mut detail = format!("{}: {}", names.len(), names.join(", "));
        for remark in crate::mcp::left_out(&specs, &provider.capabilities()) {
            detail = format!("{detail}; {remark}");
        }
        vec![Feature::on("tools", "Tools", detail, "runtime_tools.enabled")]
    }
}

/// Puts a row for each channel on the board. It looks them up each time: the board outlives the service, and must not hold them.
pub(crate) fn offer_channels(board: &Features, channels: Live<Channels>) {
    board.offer(move || {
        let channels = channels.get();
        let rows = channels.names().filter_map(|name| Some(channel(name, channels.status(name)?)));
        rows.collect()
    });
}

/// A row that follows a switch.
fn switch(id: &str, title: &str, is_on: bool, detail: impl Into<String>, key: &str) -> Feature {
    Feature::new((id, title), FeatureState::of_switch(is_on), detail, key)
}

fn model(config: &Config) -> Feature {
    let (provider, model) = (config.model.provider, &config.model.model_id);
    let model = if model.is_empty() { provider.default_model() } else { model };
    Feature::on("model", "Model", format!("{model} by {provider}"), "model.provider")
}

fn running_model(provider: &dyn ModelProvider, fault: Option<&str>) -> Feature {
    let capabilities = provider.capabilities();
    let name = format!("{} by {}", capabilities.model, capabilities.provider);
    let detail = format!("{name}; {}", capabilities.window_in_words());
    let row = Feature::on("model", "Model", detail, "model.provider");
    match (provider.readiness(), fault) {
        (Readiness::Ready, None) => row,
        (Readiness::Ready, Some(fault)) => {
            row.but(FeatureState::Degraded, format!("the last request to {name} failed: {fault}"))
        }
        (Readiness::NotConfigured(hint), _) => {
            row.but(FeatureState::Degraded, format!("{name} is not set up: {hint}"))
        }
    }
}

fn telemetry(config: &Config) -> Feature {
    let days = config.telemetry.keep_days;
    let state = FeatureState::of_switch(config.telemetry.enabled);
    let detail = match config.telemetry.enabled {
        true => format!("kept for {days} days"),
        false => "not kept; /metrics still counts".to_owned(),
    };
    let detail = match config.telemetry.enabled && !config.telemetry.otlp_endpoint.trim().is_empty() {
        true => format!("{detail}, and exported to telemetry.otlp_endpoint"),
        false => detail,
    };
    Feature::new(("telemetry", "Telemetry"), state, detail, "telemetry.enabled")
}

fn scheduler(config: &Config) -> Feature {
    let jobs = config.scheduler.jobs.len();
    let detail = format!("{jobs} in the configuration, plus those created at run time");
    switch("scheduler", "Scheduled jobs", config.scheduler.enabled, detail, "scheduler.enabled")
}

fn budget(config: &Config, facts: &MachineFacts) -> Feature {
    let detail = crate::preflight::budget(&config.budget, &facts.unpriced);
    let state = match config.budget.daily_usd > 0.0 {
        true if !facts.unpriced.is_empty() => FeatureState::Degraded,
        is_on => FeatureState::of_switch(is_on),
    };
    Feature::new(("budget", "Daily budget"), state, detail, "budget.daily_usd")
}

fn storage(health: Option<&StorageHealth>) -> Feature {
    let row = Feature::on(
        "storage",
        "Storage",
        "messages are stored before they are answered",
        "storage.synchronous",
    );
    match health.and_then(StorageHealth::fault) {
        Some(fault) => row.but(FeatureState::Degraded, fault.message.clone()),
        None => row,
    }
}

fn memory(config: &Config) -> Feature {
    let memory = &config.memory;
    let found = match memory.embedding.provider {
        None => "full-text search",
        Some(_) => "full-text search and search by meaning",
    };
    let recall = if memory.auto_recall {
        "recalled automatically where clearly relevant"
    } else {
        "not recalled automatically"
    };
    switch("memory", "Long-term memory", memory.enabled, format!("{found}, {recall}"), "memory.enabled")
}

/// Reports on the board when memories are waiting for their vectors.
pub(crate) fn offer_memory(board: &Features, config: Live<Config>, memory: GuardedMemory) {
    board.offer(move || {
        let waiting = |why| {
            self::memory(&config.get()).but(FeatureState::Degraded, format!("full-text search only: {why}"))
        };
        memory.trouble().map(waiting).into_iter().collect()
    });
}

fn shell(config: &Config, facts: &MachineFacts) -> Feature {
    let name = ("shell_sandbox", "Sandbox for commands");
    match config.security.sandbox {
        Sandbox::None => {
            let detail = format!(
                "commands run on this machine with the rights of the user who started it; {}",
                facts.protection.describe()
            );
            Feature::new(name, FeatureState::Off, detail, "security.sandbox")
        }
        Sandbox::Docker => Feature::on(
            name.0,
            name.1,
            "Docker, with one container per conversation and per MCP server",
            "security.sandbox",
        ),
        Sandbox::Kernel => Feature::on(name.0, name.1, "kernel namespaces and Landlock", "security.sandbox"),
    }
}

fn runtime_tools(config: &Config) -> Feature {
    let is_on = config.runtime_tools.enabled;
    let detail = if is_on {
        "the model can create tools, which always run in a sandbox"
    } else {
        "the model cannot create tools"
    };
    switch("runtime_tools", "Tools created at run time", is_on, detail, "runtime_tools.enabled")
}

fn specialists(config: &Config) -> Feature {
    let there: Vec<String> = wiring::specialists::enabled(config).map(|one| one.name.to_string()).collect();
    let made = if config.agent.dynamic_specialists { "; the model can create more" } else { "" };
    let detail = if there.is_empty() { "none is enabled".to_owned() } else { there.join(", ") } + made;
    switch(
        "specialists",
        "Specialists",
        !there.is_empty() || config.agent.dynamic_specialists,
        detail,
        "agent.specialists.coder.enabled",
    )
}

fn work(config: &Config) -> Feature {
    let work = &config.work;
    let detail = if work.enabled {
        let (turns, minutes) = (work.max_iterations, work.max_minutes);
        format!(
            "planned work is carried out in the background, each piece within {turns} turns and {minutes} minutes"
        )
    } else {
        "work ends with its turn".to_owned()
    };
    Feature::new(("work", "Multi-turn work"), FeatureState::of_switch(work.enabled), detail, "work.enabled")
}

fn verification(config: &Config) -> Feature {
    let verification = &config.verification;
    let state = FeatureState::of_switch(verification.enabled);
    let row = Feature::new(
        ("verification", "Checks after edits"),
        state,
        "edits are not checked",
        "verification.enabled",
    );
    let strict = if verification.strict { ", and a failed check fails the edit" } else { "" };
    match (verification.enabled, verification.command.trim()) {
        (false, _) => row,
        (true, "") if !wiring::verification::may_detect(config) => row.but(
            FeatureState::Degraded,
            "commands need approval and have no sandbox, so only verification.command would run, and it is empty",
        ),
        (true, "") => row.but(state, format!("with a command derived from the project's files{strict}")),
        (true, command) => row.but(state, format!("with `{command}`{strict}")),
    }
}

fn ambient(config: &Config) -> Feature {
    let (work, idle) = (&config.work, &config.work.ambient);
    let is_on = work.enabled && idle.enabled;
    let detail = match (is_on, idle.enabled) {
        (true, _) => format!("used after {} minutes without activity", idle.idle_minutes),
        (false, true) => "work.enabled is off, so no work is done".to_owned(),
        (false, false) => "idle time is not used".to_owned(),
    };
    switch("ambient", "Idle time", is_on, detail, "work.ambient.enabled")
}

fn approvals(config: &Config) -> Feature {
    let approval = &config.approval;
    let detail = match (approval.enabled, approval.requires_approval.as_slice()) {
        (false, _) => "no action needs approval".to_owned(),
        (true, []) => "approval.requires_approval is empty, so no tool needs approval".to_owned(),
        (true, tools) => {
            let named = |tool: &String| match tool.as_str() {
                OUTBOUND => "outbound (every tool that sends something out of this machine)".to_owned(),
                _ => tool.clone(),
            };
            format!("needed for: {}", tools.iter().map(named).collect::<Vec<_>>().join(", "))
        }
    };
    switch("approvals", "Approvals", approval.enabled, detail, "approval.enabled")
}

fn webchat(config: &Config) -> Feature {
    let webchat = &config.channels.webchat;
    let state = FeatureState::of_switch(webchat.enabled);
    let detail = if webchat.enabled { "chat in the browser" } else { "no listener" };
    Feature::new(("webchat", "Browser chat"), state, detail, "channels.webchat.enabled")
}

fn dashboard(config: &Config) -> Feature {
    let is_on = config.channels.webchat.enabled && config.dashboard.enabled;
    let detail = match (is_on, config.dashboard.auth_token.is_empty()) {
        (false, _) => "not served",
        (true, true) => "open, because dashboard.auth_token is empty",
        (true, false) => "opens with the token",
    };
    switch("dashboard", "Dashboard", is_on, detail, "dashboard.enabled")
}

fn webhooks(config: &Config, facts: &MachineFacts) -> Feature {
    let is_on = config.channels.webchat.enabled && wiring::http::webhooks(config).exist(facts.is_near);
    let detail = match (is_on, config.webhook.secret.is_empty()) {
        (true, false) => "every request must be signed with webhook.secret",
        (true, true) => "requests from this machine need no signature, because webhook.secret is empty",
        (false, true) if config.webhook.enabled && config.channels.webchat.enabled => {
            "webhook.secret is empty, and other machines reach the address"
        }
        (false, _) => "not served",
    };
    switch("webhooks", "Webhooks", is_on, detail, "webhook.enabled")
}

fn channel(name: &str, status: ChannelStatus) -> Feature {
    let key = format!("channels.{name}.enabled");
    let (id, title) = match name {
        "webchat" => (name.to_owned(), "Browser chat".to_owned()),
        _ => (format!("channel.{name}"), format!("Channel {name}")),
    };
    let (state, word) = match status.state {
        ChannelState::Running => (FeatureState::On, "running"),
        ChannelState::Connecting => (FeatureState::On, "connecting"),
        ChannelState::Degraded => (FeatureState::Degraded, "failing"),
        ChannelState::Off => (FeatureState::Off, "off"),
    };
    let detail = match (status.detail.is_empty(), status.account.is_empty()) {
        (false, _) => status.detail,
        (true, false) => format!("{word} as {}", status.account),
        (true, true) => word.to_owned(),
    };
    Feature::new((&id, &title), state, detail, &key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(change: fn(&mut Config), id: &str) -> Feature {
        let mut config = Config::default();
        change(&mut config);
        let protection = Protection { files: true, ports: true, signals: true, is_root: false };
        let facts = MachineFacts { is_near: false, protection, unpriced: vec!["m".into()] };
        let rows = configured(&config, &facts);
        rows.into_iter().find(|row| row.id == id).unwrap_or_else(|| panic!("no row {id}"))
    }

    #[test]
    fn rows_follow_the_configuration() {
        let check = |id: &str, change: fn(&mut Config), state: FeatureState, word: &str| {
            let row = row(change, id);
            assert!(row.state == state && row.detail.contains(word), "{row:?}");
            assert!(row.config_key.contains('.') && !row.title.is_empty(), "{row:?}");
        };
        check("approvals", |_| {}, FeatureState::Off, "no action needs approval");
        check("approvals", |config| config.approval.enabled = true, FeatureState::On, "shell");
        check("budget", |_| {}, FeatureState::Off, "no daily limit");
        check("budget", |config| config.budget.daily_usd = 1.0, FeatureState::Degraded, "refused");
        check("webhooks", |_| {}, FeatureState::Off, "webhook.secret");
        check("dashboard", |config| config.dashboard.enabled = false, FeatureState::Off, "not served");
        check("shell_sandbox", |_| {}, FeatureState::Off, "on this machine");
        check("session_recorder", |_| {}, FeatureState::Off, "not recorded");
        check("session_recorder", |config| config.session_recorder.enabled = true, FeatureState::On, "20");
        check("model", |_| {}, FeatureState::On, "openai");
    }

    #[test]
    fn a_failing_storage_is_degraded() {
        let health = StorageHealth::default();
        assert_eq!(storage(Some(&health)).state, FeatureState::On);
        health.failed("the disk is full");
        let row = storage(Some(&health));
        assert_eq!((row.state, row.detail.as_str()), (FeatureState::Degraded, "the disk is full"));
    }
}
