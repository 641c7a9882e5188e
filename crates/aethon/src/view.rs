//! The configuration as the HTTP application and the terminal may view and change it.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::{Config, Edited, HeldFile, Sources, changed_keys, difference};
use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::event::ConfigNews;
use aethon_core::live::Live;
use aethon_core::service::{
    ConfigEdit, ConfigEdited, ConfigKey, ConfigOnFile, ConfigRefusal, ConfigView, UnconfirmedChange,
};
use aethon_core::version::Version;
use aethon_guard::redact::Redactor;
use aethon_workflows::digest;
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::home::Home;
use crate::prepared::{Prepared, Shared, Source};
use crate::reload::{Reload, Reloaded, take_over};

/// How long the running service may take to reload the written file.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How many reload requests may be queued.
const WAITING: usize = 16;

/// A request to reload the configuration, as the channel on which its result is awaited.
pub(crate) type ReloadRequest = oneshot::Sender<std::result::Result<Reloaded, String>>;

/// A loaded configuration with its secrets masked.
pub(crate) struct MaskedConfig {
    pub(crate) config: Live<Config>,
    pub(crate) source: Source,
    pub(crate) home: Home,
    pub(crate) redactor: Live<Redactor>,
    pub(crate) audit: Arc<dyn AuditLog>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) reload: mpsc::Sender<ReloadRequest>,
}

/// The queue of reload requests.
pub(crate) fn reload_requests() -> (mpsc::Sender<ReloadRequest>, mpsc::Receiver<ReloadRequest>) {
    mpsc::channel(WAITING)
}

/// Serves reload requests until no sender is left.
pub(crate) async fn grant(mut requests: mpsc::Receiver<ReloadRequest>, mut reload: Reload) {
    while let Some(request) = requests.recv().await {
        let reloaded = reload.read_again().await.map_err(|error| error.to_string());
        // The requester may be gone; the log has the result.
        let _ = request.send(reloaded);
    }
}

#[async_trait]
impl ConfigView for MaskedConfig {
    fn dump(&self) -> Value {
        aethon_config::dump(&self.config.get())
    }

    fn schema(&self) -> Value {
        aethon_config::schema()
    }

    async fn keys(&self) -> Result<Vec<ConfigKey>> {
        let (sources, config) = (self.source.sources.clone(), self.config.get());
        let read = spawn_blocking(move || aethon_config::origins(&sources, &config)).await;
        let origins = read
            .map_err(|error| Error::internal("the configuration could not be read").because(error))?
            .map_err(|error| Error::invalid(error.to_string()))?;
        Ok(origins.into_iter().map(with_effect).collect())
    }

    async fn on_file(&self) -> Result<ConfigOnFile> {
        let (source, home) = (self.source.clone(), self.home.clone());
        let read = move || {
            let sources = &source.sources;
            let text =
                aethon_config::file_text(sources).map_err(|error| Error::invalid(error.to_string()))?;
            let config = aethon_config::load(sources).map(|loaded| aethon_config::dump(&loaded.config));
            Ok(ConfigOnFile { version: version(&home, &text), config: config.unwrap_or_default() })
        };
        let read = spawn_blocking(read).await;
        read.map_err(|error| Error::internal("the configuration could not be read").because(error))?
    }

    async fn edit(&self, edit: ConfigEdit) -> Result<ConfigEdited, ConfigRefusal> {
        // Held until the file is written, so that the text compared and checked is the one replaced.
        let (held, edited) = self.checked(&edit).await?;
        let running = self.config.get();
        let (mut reached, mut wanted) = ((*running).clone(), edited.config.clone());
        if self.source.is_demo(edited.names_a_model) {
            wanted.model.stand_in();
        }
        take_over(&mut reached, &wanted);
        let redactor = self.redactor.get();
        let diff = difference(&edited.before, &edited.after);
        // Secrets that the change introduces are not among those of the running configuration.
        let brought = Redactor::new(wanted.secrets().into_iter().cloned());
        let diff = brought.redact(&redactor.redact(&diff)).into_owned();
        let loosened = edited.loosened.clone();
        let mut outcome = ConfigEdited {
            version: version(&self.home, &edited.before),
            saved: false,
            diff,
            taken_over: among(&edited.keys, changed_keys(&running, &reached)),
            needs_restart: among(&edited.keys, changed_keys(&reached, &wanted)),
            overridden: edited.overridden.iter().map(|(key, place)| format!("{key}: {place}")).collect(),
            loosened: loosened.clone(),
            warnings: edited.warnings.iter().cloned().chain(edited.cleared.iter().map(cleared)).collect(),
        };
        if !loosened.is_empty() && !edit.is_confirmed {
            let change = UnconfirmedChange { keys: loosened, change: outcome };
            return Err(ConfigRefusal::Unconfirmed(Box::new(change)));
        }
        self.check(&edit, &edited).await?;
        let Some(mut held) = held.filter(|_| edited.before != edited.after) else { return Ok(outcome) };
        outcome.version = version(&self.home, &edited.after);
        let keys = edited.keys;
        let written = spawn_blocking(move || held.replace(&edited.after)).await;
        let failed = |error: String| Error::unavailable(format!("the file could not be written: {error}"));
        written.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
        outcome.saved = true;
        self.note(&edit, &outcome).await;
        match self.reloaded().await {
            Ok(reloaded) => {
                outcome.taken_over = among(&keys, reloaded.taken_over);
                outcome.needs_restart = among(&keys, reloaded.need_restart);
            }
            Err(why) => outcome.warnings.push(format!("the file is written, but not applied yet: {why}")),
        }
        Ok(outcome)
    }

    async fn reload(&self) -> Result<ConfigNews> {
        match self.reloaded().await {
            Ok(Reloaded { taken_over, need_restart: needs_restart }) => {
                let keys = [taken_over.as_slice(), &needs_restart].concat().join(", ");
                if !keys.is_empty() {
                    self.record(AuditEntry::new(self.clock.now(), AuditAction::Config, keys, "reloaded"))
                        .await;
                }
                Ok(ConfigNews { taken_over, needs_restart })
            }
            // It may quote the file.
            Err(why) => Err(Error::invalid(self.redactor.get().redact(&why).into_owned())),
        }
    }
}

impl MaskedConfig {
    /// The edited file, if it can be read.
    async fn checked(&self, edit: &ConfigEdit) -> Result<(Option<HeldFile>, Edited), ConfigRefusal> {
        let (sources, home, edit) = (self.source.sources.clone(), self.home.clone(), edit.clone());
        let done = spawn_blocking(move || {
            let unread = |error| Error::unavailable("the file cannot be read and held").because(error);
            let held = (!edit.is_dry_run).then(|| HeldFile::open(&sources)).transpose().map_err(unread)?;
            let before = match &held {
                Some(held) => held.text().to_owned(),
                None => {
                    aethon_config::file_text(&sources).map_err(|error| Error::invalid(error.to_string()))?
                }
            };
            edit.expected.check(|| Some(version(&home, &before)))?;
            let changes: Vec<(String, Value)> = edit.changes.into_iter().collect();
            match aethon_config::edit(&sources, before, &changes) {
                Ok(edited) => Ok((held, edited)),
                Err(faults) => {
                    let faults = faults.into_iter().map(|fault| (fault.key, fault.message));
                    Err(ConfigRefusal::Keys(faults.collect()))
                }
            }
        });
        done.await.map_err(|error| Error::internal("the file could not be read").because(error))?
    }

    /// Refuses a file with which the service would not start, or that sends a key elsewhere than before.
    async fn check(&self, edit: &ConfigEdit, edited: &Edited) -> Result<(), ConfigRefusal> {
        let flags = Prepared::read(self.source.clone(), Shared::default())
            .map_err(|error| Error::invalid(error.to_string()))?
            .flags;
        let problems = crate::preflight::problems(&edited.config, &flags).await;
        let key = edit.changes.keys().next().cloned().unwrap_or_default();
        let misdirected = edited.misdirected.iter().map(|fault| (fault.key.clone(), fault.message.clone()));
        let faults: Vec<(String, String)> =
            problems.into_iter().map(|problem| (key.clone(), problem)).chain(misdirected).collect();
        if faults.is_empty() { Ok(()) } else { Err(ConfigRefusal::Keys(faults)) }
    }

    async fn note(&self, edit: &ConfigEdit, outcome: &ConfigEdited) {
        let keys: Vec<&str> = edit.changes.keys().map(String::as_str).collect();
        let keys = keys.join(", ");
        // What loosens protection got here only because the token was shown once more.
        let outcome_word = if outcome.loosened.is_empty() { "changed" } else { "confirmed" };
        tracing::info!(keys, by = edit.by, outcome = outcome_word, "the configuration file was changed");
        let entry = AuditEntry::new(self.clock.now(), AuditAction::Config, keys, outcome_word);
        self.record(entry.by(&edit.by).with_detail(outcome.diff.as_str())).await;
    }

    async fn record(&self, entry: AuditEntry) {
        if let Err(error) = self.audit.record(entry).await {
            tracing::warn!(%error, "an audit entry could not be stored");
        }
    }

    async fn reloaded(&self) -> std::result::Result<Reloaded, String> {
        let (request, granted) = oneshot::channel();
        let busy = || "the service is busy; restart it to apply the file".to_owned();
        self.reload.try_send(request).map_err(|_| busy())?;
        timeout(TIMEOUT, granted).await.map_err(|_| busy())?.map_err(|_| busy())?
    }
}

/// The version of a text of the file. It is a keyed digest, because a file may hold secrets that are short enough to be
/// found by trying.
fn version(home: &Home, text: &str) -> Version {
    let digest = digest(format!("config.toml\0{}\0{text}", home.sign_in_key().expose()).as_bytes());
    Version::named(&digest[..32])
}

/// Those of the keys that an edit is about. Earlier edits that wait for a restart are not: whoever saves a key wants to know
/// when that one counts.
fn among(edited: &[String], keys: Vec<String>) -> Vec<String> {
    let is_below = |key: &str, table: &str| key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    let is_edited = |key: &String| {
        edited.iter().any(|edited| edited == key || is_below(key, edited) || is_below(edited, key))
    };
    keys.into_iter().filter(is_edited).collect()
}

fn cleared(key: &String) -> String {
    format!(
        "{key} is removed, because its address changes: a new address never gets the key of the one before; name the key of \
         the new one, as \"${{credential:NAME}}\""
    )
}

/// Lists every key of a configuration with its value, its origin, and whether a new value needs a restart.
///
/// # Errors
///
/// If the sources cannot be read any more.
pub fn config_keys(sources: &Sources, config: &Config) -> Result<Vec<ConfigKey>, aethon_config::Error> {
    Ok(aethon_config::origins(sources, config)?.into_iter().map(with_effect).collect())
}

fn with_effect(key: ConfigKey) -> ConfigKey {
    ConfigKey { needs_restart: !is_reloadable(&key.key), ..key }
}

/// Returns whether a running service applies a new value of this key, or of the keys below it, when it reloads.
pub fn is_reloadable(key: &str) -> bool {
    const LIVE: [&str; 12] = [
        "backup",
        "dashboard.auth_token",
        "webhook",
        "channels.webchat.allowed_origins",
        "channels.webchat.allowed_hosts",
        "server.base_path",
        "server.trusted_proxies",
        "server.health_from",
        "security.allowed_senders",
        "logging.level",
        "budget",
        "model",
    ];
    let is_in =
        |part: &&str| key.strip_prefix(*part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    key != "model.max_retries" && LIVE.iter().any(is_in)
}
