//! Reloads the configuration while the service runs.
//!
//! Settings that can change at run time are applied: who may come in, the log level, the budget, and which models answer. Each
//! part reads its settings from its own cell ([`aethon_core::live::Live`]) at the start of a piece of work, so running turns
//! and requests keep the settings they began with. All other settings keep their values until a restart, and are reported by
//! key. A rejected configuration changes nothing.

use std::sync::Arc;

use aethon_agent::{AgentModels, Engine, Meter, ModelDirectory};
use aethon_config::{Config, changed_keys};
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::clock::Clock;
use aethon_core::event::{ConfigNews, Event, EventBus};
use aethon_core::live::Live;
use aethon_core::model_choice::ModelChoices;
use aethon_core::secret::Secret;
use aethon_core::storage::Storage;
use aethon_http::App;
use aethon_http::deps::Setup;

use crate::aethon::Aethon;
use crate::error::{Error, Result};
use crate::mcp::sign_in;
use crate::prepared::{Prepared, Shared, Source};
use crate::wiring;

/// The subject of an audit row that names no key.
const CONFIG_FILE: &str = "config.toml";

/// Reloads the configuration of a running service.
pub struct Reload {
    source: Source,
    shared: Shared,
    /// The configuration in force.
    config: Live<Config>,
    /// Every secret that was ever in force: old ones must stay masked too.
    secrets: Vec<Secret>,
    storage: Storage,
    clock: Arc<dyn Clock>,
    engine: Arc<Engine>,
    meter: Meter,
    bus: EventBus,
    /// The application, and the set-up that it reports. `None` without a listener.
    application: Option<(Arc<App>, Setup)>,
}

/// The result of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Keys whose new values are in force.
    pub taken_over: Vec<String>,
    /// Keys that changed but take effect only after a restart.
    pub need_restart: Vec<String>,
}

impl Reload {
    pub(crate) fn new(aethon: &Aethon, config: Live<Config>, application: Option<(Arc<App>, Setup)>) -> Self {
        Self {
            source: aethon.source.clone(),
            shared: aethon.shared.clone(),
            secrets: aethon.config.secrets().into_iter().cloned().collect(),
            config,
            storage: aethon.storage.clone(),
            clock: aethon.clock.clone(),
            engine: aethon.engine.clone(),
            meter: aethon.models.meter.clone(),
            bus: aethon.events().clone(),
            application,
        }
    }

    /// Reads the configuration and applies what can change, recording it in the log and the audit log. An error says why, and
    /// means that nothing has changed.
    pub async fn reload(&mut self) -> Result<Reloaded> {
        let reloaded = self.read_again().await;
        // Only the log gets the reason of a refusal: the message may quote the file, and the audit log holds no values.
        let (keys, outcome) = match &reloaded {
            Ok(reloaded) if reloaded.taken_over.is_empty() => (&reloaded.need_restart, "unchanged"),
            Ok(reloaded) => (&reloaded.taken_over, "taken_over"),
            Err(_) => (&Vec::new(), "refused"),
        };
        let subject = if keys.is_empty() { CONFIG_FILE.to_owned() } else { keys.join(", ") };
        let entry = AuditEntry::new(self.clock.now(), AuditAction::Config, subject, outcome).by("signal");
        tracing::info!(action = "config", subject = entry.subject, outcome, by = "signal", "audit");
        if let Err(error) = self.storage.audit.record(entry).await {
            tracing::warn!(%error, "a row of the audit is in the log only");
        }
        reloaded
    }

    /// The same, for a change that is already in the audit log.
    pub(crate) async fn read_again(&mut self) -> Result<Reloaded> {
        let reloaded = self.take_over().await;
        match &reloaded {
            Ok(Reloaded { taken_over, need_restart }) => {
                if taken_over.is_empty() {
                    tracing::info!("configuration reloaded; no applicable changes");
                } else {
                    tracing::info!(keys = taken_over.join(", "), "configuration reloaded and applied");
                }
                if !need_restart.is_empty() {
                    tracing::warn!(keys = need_restart.join(", "), "changed keys that need a restart");
                }
            }
            Err(error) => {
                tracing::error!(%error, "the configuration was rejected; the previous one stays in force")
            }
        }
        reloaded
    }

    async fn take_over(&mut self) -> Result<Reloaded> {
        let mut prepared = Prepared::read(self.source.clone(), Shared::default())?;
        let running = self.config.get();
        let wanted = std::mem::replace(&mut prepared.config, (*running).clone());
        take_over(&mut prepared.config, &wanted);
        let problems = crate::preflight::problems(&prepared.config, &prepared.flags).await;
        if !problems.is_empty() {
            return Err(Error::refused(problems.join("\n")));
        }
        for warning in prepared.warnings() {
            tracing::warn!("{warning}");
        }
        let reloaded = Reloaded {
            taken_over: changed_keys(&running, &prepared.config),
            need_restart: changed_keys(&prepared.config, &wanted),
        };
        self.secrets.extend(prepared.secrets());
        self.secrets.sort_by(|one, other| one.expose().cmp(other.expose()));
        self.secrets.dedup_by(|one, other| one.expose() == other.expose());
        sign_in::mask_anew(&self.shared.redactor, self.secrets.iter().cloned());
        self.shared.log_level.set(prepared.config.logging.level);
        self.shared.allowed_senders.reload(&prepared.config);
        let learned = wiring::store::learned(&self.storage).await;
        let facts = learned.facts.clone();
        let models = wiring::model::AgentModels::of(&prepared, learned);
        let provider = models.models.leading().clone();
        let budget = wiring::prices::limits(&prepared.config.budget);
        self.meter.reload(wiring::prices::prices(&prepared.config, &prepared.catalog), budget);
        self.shared.choices.set(models.choices.clone().map(|choices| choices as Arc<dyn ModelChoices>));
        let directory = models.choices.map(|choices| choices as Arc<dyn ModelDirectory>);
        self.engine.set_models(AgentModels { models: models.models, small: models.small, directory }, facts);
        self.config.set(prepared.config.clone());
        let (taken_over, needs_restart) = (reloaded.taken_over.clone(), reloaded.need_restart.clone());
        if let Some((app, setup)) = &self.application {
            let options = wiring::http::options(&prepared.config, prepared.is_demo);
            app.reload(&options, Setup { provider, ..setup.clone() });
        }
        // Last, because dashboards request the values in force at once.
        self.bus.publish(|| Event::Config(Arc::new(ConfigNews { taken_over, needs_restart })));
        Ok(reloaded)
    }
}

/// Replaces the settings in force that can change at run time.
pub(crate) fn take_over(config: &mut Config, wanted: &Config) {
    config.dashboard.auth_token = wanted.dashboard.auth_token.clone();
    config.webhook = wanted.webhook.clone();
    config.channels.webchat.allowed_origins.clone_from(&wanted.channels.webchat.allowed_origins);
    config.channels.webchat.allowed_hosts.clone_from(&wanted.channels.webchat.allowed_hosts);
    config.server.base_path.clone_from(&wanted.server.base_path);
    config.server.trusted_proxies.clone_from(&wanted.server.trusted_proxies);
    config.server.health_from.clone_from(&wanted.server.health_from);
    config.security.allowed_senders.clone_from(&wanted.security.allowed_senders);
    config.logging.level = wanted.logging.level;
    config.budget = wanted.budget.clone();
    config.backup = wanted.backup.clone();
    // Retrying is the engine's business, not the model's.
    let max_retries = config.model.max_retries;
    config.model = wanted.model.clone();
    config.model.max_retries = max_retries;
}
