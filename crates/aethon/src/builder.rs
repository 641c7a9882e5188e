//! From a home directory to a running assistant, in steps that can each be looked at.
//!
//! [`Builder`] says where and with what; [`Builder::load`] reads and checks the configuration ([`Prepared`]), touching
//! nothing else; [`Prepared::open`] opens the storage and starts the engine ([`Aethon`]). An embedding program adds its
//! own tools, hooks and model to the builder. The daemon goes on with [`crate::service::Service`].

use std::path::PathBuf;
use std::sync::Arc;

use aethon_agent::{Learned, Models};
use aethon_config::{Config, Sources};
use aethon_core::channel::Channel;
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::event::EventBus;
use aethon_core::feature::Features;
use aethon_core::hook::Hook;
use aethon_core::live::Live;
use aethon_core::log::{LogBook, LogFormat};
use aethon_core::model::{ModelProvider, Readiness};
use aethon_core::redact::Redactor;
use aethon_core::secret::Secret;
use aethon_core::storage::Storage;
use aethon_core::tool::Tool;
use aethon_providers::{AwsEnvironment, Catalog};
use aethon_store::OpenMode;
use aethon_tools::{CommandSlots, DockerSandbox, LanguageServers, Protection};

use crate::aethon::Aethon;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::logging::{LogLevel, Logging};
use crate::model_health::ModelHealth;
use crate::preflight::Flags;
use crate::reach::Reach;
use crate::wiring;
use crate::wiring::model::AgentModels;

/// The variables of the language besides `LANG`.
const LOCALE: [&str; 4] = ["LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANGUAGE"];

/// Where an assistant lives and what it is made of besides its configuration.
#[derive(Default)]
pub struct Builder {
    home: Option<PathBuf>,
    file: Option<PathBuf>,
    sets: Vec<String>,
    insecure_bind: bool,
    demo: bool,
    launcher: Option<PathBuf>,
    pub(crate) parts: Parts,
}

/// What an embedding program brings along.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) model: Option<Arc<dyn ModelProvider>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) channels: Vec<Arc<dyn Channel>>,
    pub(crate) storage: Option<Storage>,
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

    /// Lets the offline model stand in when the configuration names no model and there is no key for the usual one, so that
    /// a first start has something to show. A configured model always wins.
    #[must_use]
    pub fn demo(mut self, allow: bool) -> Self {
        self.demo = allow;
        self
    }

    /// The program that the sandbox of the kernel starts once more for each command: one whose `main` calls [`crate::step`]
    /// first thing, usually this very program. Without it there is no such sandbox.
    #[must_use]
    pub fn launcher(mut self, path: impl Into<PathBuf>) -> Self {
        self.launcher = Some(path.into());
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

    /// Adds a channel. The daemon runs it, restarts it when it fails, and hands it the replies that are for it.
    #[must_use]
    pub fn channel(mut self, channel: impl Channel + 'static) -> Self {
        self.parts.channels.push(Arc::new(channel));
        self
    }

    /// Keeps everything here and not in the home's database.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.parts.storage = Some(storage);
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
        let sources = Sources::from_process(self.home, self.file, self.sets).map_err(refused)?;
        let Self { insecure_bind, demo, launcher, parts, .. } = self;
        let source = Source { sources, insecure_bind, demo, launcher, parts };
        Prepared::read(source, Shared::default())
    }
}

fn refused(error: aethon_config::Error) -> Error {
    Error::refused(error.to_string()).because(error)
}

/// What a configuration is read from. Kept, so that it can be read again.
#[derive(Clone)]
pub(crate) struct Source {
    /// Files and flags, and the environment as it was at the start.
    sources: Sources,
    insecure_bind: bool,
    demo: bool,
    launcher: Option<PathBuf>,
    pub(crate) parts: Parts,
}

/// What stays when the configuration is read again, because the whole program holds on to it.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    pub(crate) bus: EventBus,
    pub(crate) logs: LogBook,
    /// What is taken out of logs and tool output.
    pub(crate) redactor: Live<Redactor>,
    /// How much is logged.
    pub(crate) log_level: LogLevel,
    /// Who may write, by channel.
    pub(crate) allowed_senders: wiring::messengers::AllowLists,
    /// Where each part says how it stands.
    pub(crate) features: Features,
    /// Whether the model answers.
    pub(crate) model_health: ModelHealth,
    /// The containers, where commands run in docker.
    pub(crate) docker: Option<DockerSandbox>,
    /// The language servers, for the tool and for what looks at edits.
    pub(crate) lsp: Option<Arc<LanguageServers>>,
    /// The places for commands, for everything that runs some.
    pub(crate) commands: CommandSlots,
}

impl Source {
    /// Files and flags, and the environment as it was at the start.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The variables by which programs find the person's desktop.
    pub(crate) fn desktop_variables(&self) -> Vec<(String, String)> {
        let variable = |name: &&str| Some(((*name).to_owned(), self.sources.variable(name)?.to_owned()));
        aethon_tools::DESKTOP_VARIABLES.iter().filter_map(variable).collect()
    }
}

impl Prepared {
    /// Reads and checks the configuration.
    pub(crate) fn read(source: Source, mut shared: Shared) -> Result<Self> {
        let sources = &source.sources;
        let loaded = aethon_config::load(sources).map_err(refused)?;
        let flags = Flags {
            insecure_bind: source.insecure_bind,
            launcher: source.launcher.clone(),
            docker_host: sources.variable("DOCKER_HOST").map(str::to_owned),
            user_home: sources.variable("HOME").map(PathBuf::from),
            path: sources.variable("PATH").map(str::to_owned),
            lang: sources.variable("LANG").map(str::to_owned),
            locale: LOCALE
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), sources.variable(name)?.to_owned())))
                .collect(),
            is_nested: sources.variable(aethon_tools::MARK).is_some(),
            tmpdir: sources.variable("TMPDIR").map(str::to_owned),
        };
        let mut config = loaded.config;
        let is_demo = source.demo && !loaded.names_a_model && source.parts.model.is_none();
        if is_demo {
            config.model.stand_in();
        }
        let home = Home::at(&sources.home);
        shared.docker = wiring::sandbox::docker(&config, &flags, &home);
        shared.commands = CommandSlots::of(config.tools.max_shells);
        let (catalog, catalog_fault) = crate::models::load(&home);
        let aws = AwsEnvironment::from_variables(|name| sources.variable(name).map(str::to_owned));
        let mut prepared = Self {
            home,
            file: loaded.file,
            config,
            is_demo,
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            catalog,
            catalog_fault,
            flags,
            aws,
            parts: source.parts.clone(),
            source,
            shared,
        };
        prepared.shared.redactor.set(Redactor::new(prepared.secrets()));
        prepared.shared.lsp = wiring::lsp::servers(&prepared);
        Ok(prepared)
    }
}

/// A checked configuration and everything that is needed to open the assistant. Nothing has been opened or written.
pub struct Prepared {
    pub(crate) home: Home,
    /// The configuration file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) config: Config,
    /// Whether the offline model stands in, because no model is configured.
    pub(crate) is_demo: bool,
    pub(crate) warnings: Vec<String>,
    pub(crate) catalog: Catalog,
    /// Why the owner's file of models does not count.
    pub(crate) catalog_fault: Option<String>,
    pub(crate) flags: Flags,
    pub(crate) aws: AwsEnvironment,
    pub(crate) parts: Parts,
    pub(crate) source: Source,
    pub(crate) shared: Shared,
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

    /// What is worth saying about the configuration and the file of models.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().chain(&self.catalog_fault)
    }

    /// What is known of models: the built-in table, and above it the file of the home.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Every refusal to start, all at once.
    pub async fn preflight(&self) -> Result<()> {
        let mut problems = crate::preflight::problems(&self.config, &self.flags).await;
        problems.extend(wiring::sandbox::problem(self).await);
        if problems.is_empty() { Ok(()) } else { Err(Error::refused(problems.join("\n"))) }
    }

    /// The log as the configuration wants it, for a program's main to install.
    pub fn logging(&self, format: LogFormat, files: bool) -> Logging {
        let keep = usize::try_from(self.config.logging.keep_files).unwrap_or(usize::MAX);
        Logging {
            level: self.config.logging.level,
            switch: self.shared.log_level.clone(),
            format,
            stderr: true,
            files: files.then(|| (self.home.logs(), keep)),
            redactor: self.shared.redactor.clone(),
            book: self.shared.logs.clone(),
            bus: self.shared.bus.clone(),
            clock: self.clock(),
        }
    }

    /// What would run, for `--check`.
    pub async fn summary(&self) -> String {
        let (config, webchat) = (&self.config, &self.config.channels.webchat);
        let models = self.models();
        let model = models.capabilities();
        // An IPv6 address stands in brackets before a port.
        let is_bare = webchat.host.contains(':') && !webchat.host.starts_with('[');
        let host = if is_bare { format!("[{}]", webchat.host) } else { webchat.host.clone() };
        let listener =
            if webchat.enabled { format!("http://{host}:{}", webchat.port) } else { "none".into() };
        let is_near = matches!(aethon_http::is_loopback_host(&webchat.host).await, Ok(true));
        let has_webhooks = webchat.enabled && wiring::http::webhooks(config).exist(is_near);
        let access =
            if config.dashboard.auth_token.is_empty() { "open (no token)" } else { "with the token" };
        let readiness = match models.readiness() {
            Readiness::Ready if self.is_demo => "a demonstration: no model is configured".to_owned(),
            Readiness::Ready => "ready".to_owned(),
            Readiness::NotConfigured(hint) => format!("not set up: {hint}"),
        };
        format!(
            "the configuration is fine\nhome      {}\nlistener  {listener}\naccess    {access}\nmodel     {} by {}, {readiness}\nbudget    {}\nwebhooks  {}\ndashboard {}\nmemory    {}\ncommands  {}",
            self.home.path().display(),
            model.model,
            model.provider,
            crate::preflight::budget(&self.config.budget, &self.unpriced()),
            on(has_webhooks),
            on(webchat.enabled && config.dashboard.enabled),
            wiring::memory::sentence(self),
            Protection::of_this_machine().describe(),
        ) + &self.reach().iter().map(|reach| format!("\nreach     {}", reach.sentence())).collect::<String>()
            + &crate::messengers::summary(&self.config)
            + &self.model_concerns()
    }

    /// What an owner should know of the configured models, a line each.
    fn model_concerns(&self) -> String {
        let concerns = wiring::model::concerns(self);
        concerns.iter().map(|concern| format!("\nwarning   {}; {}", concern.message, concern.fix)).collect()
    }

    /// What the assistant can read and run.
    pub fn reach(&self) -> Vec<Reach> {
        crate::reach::reach(&self.config, self.flags.user_home.as_deref())
    }

    /// Opens the storage and starts the engine.
    pub async fn open(self) -> Result<Aethon> {
        Aethon::open(self, OpenMode::Guest).await
    }

    pub(crate) fn models(&self) -> Models {
        AgentModels::of(self, Learned::default()).models
    }

    /// The models whose price is not known although there is a ceiling, those that make vectors included.
    pub(crate) fn unpriced(&self) -> Vec<String> {
        if self.config.budget.daily_usd <= 0.0 {
            return Vec::new();
        }
        let prices = wiring::prices::prices(self);
        let models = self.models();
        let capabilities = models.iter().map(|model| model.capabilities());
        let names = capabilities.map(|model| (model.provider.clone(), model.model.clone()));
        let embedder = wiring::embedding::service(self);
        let embedding = embedder.and_then(|(embedder, _)| {
            let (provider, model) = embedder.model().split_once('/')?;
            Some((provider.to_owned(), model.to_owned()))
        });
        let transcriber = wiring::transcription::service(&self.config);
        let transcription = transcriber.and_then(|service| {
            let is_listed =
                wiring::transcription::listed(&self.config, &self.catalog, service.model()).is_some();
            let (provider, model) = service.model().split_once('/').filter(|_| !is_listed)?;
            Some((provider.to_owned(), model.to_owned()))
        });
        let is_unpriced = |(provider, model): &(String, String)| prices(provider, model, None).is_none();
        let mut unpriced: Vec<String> =
            names.chain(embedding).chain(transcription).filter(is_unpriced).map(|(_, model)| model).collect();
        unpriced.dedup();
        unpriced
    }

    /// What must not be seen in logs and tool output.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let configured = self.config.secrets().into_iter().chain(self.aws.secrets()).cloned();
        configured.chain(aethon_config::credentials::values(&self.home.credentials())).collect()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock))
    }
}

fn on(enabled: bool) -> &'static str {
    if enabled { "on" } else { "off" }
}
