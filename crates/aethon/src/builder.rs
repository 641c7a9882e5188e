//! From a home directory to a running assistant, in steps that can each be looked at.
//!
//! [`Builder`] says where and with what; [`Builder::load`] reads and checks the configuration ([`Prepared`]), touching
//! nothing else; [`Prepared::open`] opens the storage and starts the engine ([`Aethon`]). An embedding program adds its
//! own tools, hooks and model to the builder. The daemon goes on with [`crate::service::Service`].

use std::path::PathBuf;
use std::sync::Arc;

use aethon_config::{Config, Sources};
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::event::EventBus;
use aethon_core::hook::Hook;
use aethon_core::log::LogBook;
use aethon_core::model::{ModelProvider, Readiness};
use aethon_core::redact::Redactor;
use aethon_core::tool::Tool;
use aethon_providers::AwsEnvironment;
use aethon_store::Opener;

use crate::aethon::Aethon;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::logging::{LogFormat, Logging};
use crate::preflight::Flags;
use crate::wire;

/// Where an assistant lives and what it is made of besides its configuration.
#[derive(Default)]
pub struct Builder {
    home: Option<PathBuf>,
    file: Option<PathBuf>,
    sets: Vec<String>,
    insecure_bind: bool,
    pub(crate) parts: Parts,
}

/// What an embedding program brings along.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) model: Option<Arc<dyn ModelProvider>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl Builder {
    /// An assistant in the usual home, `AETHON_HOME` or `~/.aethon`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lives in this directory, which is made if it is missing.
    #[must_use]
    pub fn home(mut self, path: impl Into<PathBuf>) -> Self {
        self.home = Some(path.into());
        self
    }

    /// Reads this file and not `HOME/config.toml`.
    #[must_use]
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Sets one key, as `--set` does: `key=value`, the value in TOML, a bare word being a string.
    #[must_use]
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.sets.push(setting.into());
        self
    }

    /// Allows a bind that strangers reach without a token: the caller's own proxy authenticates.
    #[must_use]
    pub fn insecure_bind(mut self, allow: bool) -> Self {
        self.insecure_bind = allow;
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.parts.tools.push(Arc::new(tool));
        self
    }

    /// Adds a hook, behind the built-in ones.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.parts.hooks.push(Arc::new(hook));
        self
    }

    /// Answers with this model, whatever `model.provider` says.
    #[must_use]
    pub fn model(mut self, model: impl ModelProvider + 'static) -> Self {
        self.parts.model = Some(Arc::new(model));
        self
    }

    /// Takes the time from here.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.parts.clock = Some(Arc::new(clock));
        self
    }

    /// Reads and checks the configuration. Every problem is told at once.
    pub fn load(self) -> Result<Prepared> {
        let refuse = |error: aethon_config::Error| Error::refused(error.to_string()).because(error);
        let sources = Sources::from_process(self.home, self.file, self.sets).map_err(refuse)?;
        let loaded = aethon_config::load(&sources).map_err(refuse)?;
        let flags = Flags {
            insecure_bind: self.insecure_bind,
            docker_host: sources.variable("DOCKER_HOST").map(str::to_owned),
            user_home: sources.variable("HOME").map(PathBuf::from),
            path: sources.variable("PATH").map(str::to_owned),
            lang: sources.variable("LANG").map(str::to_owned),
            tmpdir: sources.variable("TMPDIR").map(str::to_owned),
        };
        Ok(Prepared {
            home: Home::at(&sources.home),
            file: loaded.file,
            config: loaded.config,
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            flags,
            aws: AwsEnvironment::from_variables(|name| sources.variable(name).map(str::to_owned)),
            parts: self.parts,
            bus: EventBus::default(),
            logs: LogBook::default(),
        })
    }
}

/// A checked configuration and everything that is needed to open the assistant. Nothing has been opened or written.
pub struct Prepared {
    pub(crate) home: Home,
    /// The configuration file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) config: Config,
    pub(crate) warnings: Vec<String>,
    pub(crate) flags: Flags,
    pub(crate) aws: AwsEnvironment,
    pub(crate) parts: Parts,
    pub(crate) bus: EventBus,
    pub(crate) logs: LogBook,
}

impl Prepared {
    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where everything lies.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// What is worth saying about the configuration.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Every refusal to start, all at once.
    pub async fn preflight(&self) -> Result<()> {
        let problems = crate::preflight::problems(&self.config, &self.flags).await;
        if problems.is_empty() { Ok(()) } else { Err(Error::refused(problems.join("\n"))) }
    }

    /// The log as the configuration wants it, for a program's main to install.
    pub fn logging(&self, format: LogFormat, files: bool) -> Logging {
        let keep = usize::try_from(self.config.logging.keep_files).unwrap_or(usize::MAX);
        Logging {
            filter: Logging::filter(self.config.logging.level.name()),
            format,
            stderr: true,
            files: files.then(|| (self.home.logs(), keep)),
            redactor: self.redactor(),
            book: self.logs.clone(),
            bus: self.bus.clone(),
            clock: self.clock(),
        }
    }

    /// What would run, for `--check`.
    pub async fn summary(&self) -> String {
        let (config, webchat) = (&self.config, &self.config.channels.webchat);
        let provider = self.provider();
        let model = provider.capabilities();
        // An IPv6 address stands in brackets before a port.
        let is_bare = webchat.host.contains(':') && !webchat.host.starts_with('[');
        let host = if is_bare { format!("[{}]", webchat.host) } else { webchat.host.clone() };
        let listener =
            if webchat.enabled { format!("http://{host}:{}", webchat.port) } else { "none".into() };
        let is_near = matches!(aethon_http::is_loopback_host(&webchat.host).await, Ok(true));
        let has_webhooks = webchat.enabled && wire::http::webhooks(config).exist(is_near);
        let access =
            if config.dashboard.auth_token.is_empty() { "open (no token)" } else { "with the token" };
        let readiness = match provider.readiness() {
            Readiness::Ready => "ready".to_owned(),
            Readiness::NotConfigured(hint) => format!("not set up: {hint}"),
        };
        format!(
            "the configuration is fine\nhome      {}\nlistener  {listener}\naccess    {access}\nmodel     {} by {}, {readiness}\nwebhooks  {}\ndashboard {}",
            self.home.path().display(),
            model.model,
            model.provider,
            on(has_webhooks),
            on(webchat.enabled && config.dashboard.enabled),
        )
    }

    /// Opens the storage and starts the engine.
    pub async fn open(self) -> Result<Aethon> {
        Aethon::open(self, Opener::Guest).await
    }

    pub(crate) fn provider(&self) -> Arc<dyn ModelProvider> {
        self.parts.model.clone().unwrap_or_else(|| wire::model::provider_of(&self.config, &self.aws))
    }

    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.config.secrets().into_iter().chain(self.aws.secrets()).cloned())
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock))
    }
}

fn on(enabled: bool) -> &'static str {
    if enabled { "on" } else { "off" }
}
