//! From a home directory to a running assistant, in steps that can be inspected.
//!
//! [`Builder`] collects the location and the parts. [`Builder::load`] reads and checks the configuration ([`Prepared`]) and
//! touches nothing else. [`Prepared::open`] opens the storage and starts the engine ([`Aethon`]). An embedding program adds
//! its own tools, hooks and model to the builder. The daemon continues with [`crate::service::Service`].

use std::path::PathBuf;
use std::sync::Arc;

use aethon_agent::{Learned, Models};
use aethon_config::{Config, LimitsSet, Sources};
use aethon_core::channel::Channel;
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::event::EventBus;
use aethon_core::feature::Features;
use aethon_core::hook::Hook;
use aethon_core::live::Live;
use aethon_core::log::{LogBook, LogFormat};
use aethon_core::model::{ModelProvider, Readiness};
use aethon_core::redact::Redactor;
use aethon_core::sandbox::Sandbox;
use aethon_core::secret::Secret;
use aethon_core::storage::Storage;
use aethon_core::tool::Tool;
use aethon_providers::{AwsEnvironment, Catalog};
use aethon_store::OpenMode;
use aethon_tools::{CommandSlots, DockerSandbox, LanguageServers, Protection, PullPolicy};

use crate::aethon::Aethon;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::logging::{LogLevel, Logging};
use crate::model_health::ModelHealth;
use crate::preflight::Flags;
use crate::reach::Reach;
use crate::wiring;
use crate::wiring::model::AgentModels;
use crate::wiring::sandbox::Proof;

/// The locale variables besides `LANG`.
const LOCALE: [&str; 4] = ["LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANGUAGE"];

/// The location and the parts of an assistant that do not come from its configuration.
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

/// The parts that an embedding program supplies.
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
    /// An assistant in the default home, `AETHON_HOME` or `~/.aethon`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this directory as the home and creates it if it is missing.
    #[must_use]
    pub fn home(mut self, path: impl Into<PathBuf>) -> Self {
        self.home = Some(path.into());
        self
    }

    /// Reads this configuration file instead of `HOME/config.toml`.
    #[must_use]
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Sets one key like `--set`: `key=value` with a TOML value; a bare word is a string.
    #[must_use]
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.sets.push(setting.into());
        self
    }

    /// Allows a publicly reachable bind without a token, because the caller's own proxy authenticates.
    #[must_use]
    pub fn insecure_bind(mut self, allow: bool) -> Self {
        self.insecure_bind = allow;
        self
    }

    /// Falls back to the offline model if the configuration names no model and there is no key for the default one, so that a
    /// first start has something to show. A configured model always wins.
    #[must_use]
    pub fn demo(mut self, allow: bool) -> Self {
        self.demo = allow;
        self
    }

    /// Sets the program that the kernel sandbox executes for each command. Its `main` must call [`crate::step`] first; usually it
    /// is this very program. Without it the kernel sandbox is unavailable.
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

    /// Adds a hook after the built-in ones.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.parts.hooks.push(Arc::new(hook));
        self
    }

    /// Uses this model regardless of `model.provider`.
    #[must_use]
    pub fn model(mut self, model: impl ModelProvider + 'static) -> Self {
        self.parts.model = Some(Arc::new(model));
        self
    }

    /// Adds a channel. The daemon runs it, restarts it on failure, and hands it the replies addressed to it.
    #[must_use]
    pub fn channel(mut self, channel: impl Channel + 'static) -> Self {
        self.parts.channels.push(Arc::new(channel));
        self
    }

    /// Uses this storage instead of the home's database.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.parts.storage = Some(storage);
        self
    }

    /// Uses this clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.parts.clock = Some(Arc::new(clock));
        self
    }

    /// Reads and checks the configuration. All problems are reported at once.
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

/// The inputs of a configuration, kept so that it can be reloaded.
#[derive(Clone)]
pub(crate) struct Source {
    /// Files, flags, and the environment as it was at startup.
    sources: Sources,
    insecure_bind: bool,
    demo: bool,
    launcher: Option<PathBuf>,
    pub(crate) parts: Parts,
}

/// What survives a reload because the whole program holds on to it.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    pub(crate) bus: EventBus,
    pub(crate) logs: LogBook,
    /// Masks secrets in logs and tool output.
    pub(crate) redactor: Live<Redactor>,
    /// The log level.
    pub(crate) log_level: LogLevel,
    /// The allowed senders by channel.
    pub(crate) allowed_senders: wiring::messengers::AllowLists,
    /// The board on which each part reports its state.
    pub(crate) features: Features,
    /// Whether the model answers.
    pub(crate) model_health: ModelHealth,
    /// The Docker sandbox, if commands run in Docker.
    pub(crate) docker: Option<DockerSandbox>,
    /// The language servers, used by the tool and the checks after edits.
    pub(crate) lsp: Option<Arc<LanguageServers>>,
    /// The command slots, shared by everything that runs commands.
    pub(crate) commands: CommandSlots,
    /// Which limits of what is stored are the owner's.
    pub(crate) limits_set: LimitsSet,
}

impl Source {
    /// Files, flags, and the environment as it was at startup.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The variables by which programs find the user's desktop session.
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
            user_home: sources.variable("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
            account_home: aethon_tools::account_home(),
            place_variables: set(sources, aethon_tools::place_variables()),
            socket_variables: set(sources, aethon_tools::socket_variables()),
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
        shared.limits_set = loaded.limits_set;
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

/// Refuses the start if there are problems.
fn refused_for(problems: &[String]) -> Result<()> {
    if problems.is_empty() { Ok(()) } else { Err(Error::refused(problems.join("\n"))) }
}

/// Returns those of these variables that are set, with their values.
fn set(sources: &Sources, names: impl Iterator<Item = &'static str>) -> Vec<(String, String)> {
    names.filter_map(|name| Some((name.to_owned(), sources.variable(name)?.to_owned()))).collect()
}

/// A checked configuration and everything needed to open the assistant. Nothing has been opened or written yet.
pub struct Prepared {
    pub(crate) home: Home,
    /// The configuration file that was read, if there is one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) config: Config,
    /// Whether the offline model is used because none is configured.
    pub(crate) is_demo: bool,
    pub(crate) warnings: Vec<String>,
    pub(crate) catalog: Catalog,
    /// Why the owner's `models.json` is ignored.
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

    /// The home directory.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Warnings about the configuration and `models.json`.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().chain(&self.catalog_fault)
    }

    /// Refuses a configuration that has warnings, for callers that want none. They are printed already.
    pub fn without_warnings(&self) -> Result<()> {
        match self.warnings().count() {
            0 => Ok(()),
            count => Err(Error::refused(format!("warnings: {count}; --strict treats them as failures"))),
        }
    }

    /// The model catalogue: the built-in table, overridden by the home's file.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Checks everything that prevents a start, and reports all problems at once. Starts no container.
    pub async fn preflight(&self) -> Result<()> {
        let mut problems = self.problems().await;
        problems.extend(wiring::sandbox::problem(self).await);
        refused_for(&problems)
    }

    /// Like [`Prepared::preflight`], and tries the sandbox of commands as far as that changes nothing: with docker, by one
    /// container that is removed again, but without pulling an image. Returns what was found, one line each.
    pub async fn try_out(&self) -> Result<Vec<String>> {
        let mut problems = self.problems().await;
        let proof = match wiring::sandbox::proof(self, PullPolicy::Never).await {
            Ok(proof) => proof,
            Err(problem) => {
                problems.push(problem);
                Proof::default()
            }
        };
        refused_for(&problems)?;
        let proved = proof.proved.filter(|_| self.config.security.sandbox == Sandbox::Docker);
        let proved = proved.map(|proved| format!("sandbox   docker: {proved}"));
        let reach = crate::sandbox_reach::warnings(&self.config).await.into_iter();
        let warning = |concern| format!("warning   {concern}");
        Ok(reach.map(warning).chain(proved).chain(proof.concerns.into_iter().map(warning)).collect())
    }

    /// Every reason not to start but for the sandbox of commands.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let mut problems = crate::preflight::problems(&self.config, &self.flags).await;
        problems.extend(wiring::http::socket_problem(self));
        problems
    }

    /// The configured log, for a program's `main` to install.
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

    /// The port and the socket that would be served.
    fn addresses(&self, host: &str) -> String {
        let port = self.config.channels.webchat.tcp_port().map(|port| format!("http://{host}:{port}"));
        let socket = wiring::http::socket(&self.config, &self.home);
        let socket = socket.map(|path| format!("unix:{}", path.display()));
        port.into_iter().chain(socket).collect::<Vec<String>>().join(" and ")
    }

    /// Describes the database, for `--check`: its format, and what a start would do to it.
    fn database_lines(&self) -> String {
        let copies = crate::upgrade::copies_sentence(&self.home);
        let copies = copies.map_or_else(String::new, |sentence| format!("\ncopies    {sentence}"));
        copies
            + &match crate::upgrade::plan(&self.home) {
                Ok(None) => format!("\ndatabase  format {}", crate::backup::DATABASE_FORMAT),
                Ok(Some(plan)) => {
                    let served = plan
                        .is_served
                        .then(|| "an aethon-server of an older version runs on it: stop it first".to_owned());
                    plan.lines().into_iter().chain(served).map(|line| format!("\nupgrade   {line}")).collect()
                }
                Err(error) => format!("\nwarning   {error}"),
            }
    }

    /// Describes what would run, for `--check`.
    pub async fn summary(&self) -> String {
        let (config, webchat) = (&self.config, &self.config.channels.webchat);
        let models = self.models();
        let model = models.capabilities();
        // An IPv6 address needs brackets before a port.
        let is_bare = webchat.host.contains(':') && !webchat.host.starts_with('[');
        let host = if is_bare { format!("[{}]", webchat.host) } else { webchat.host.clone() };
        let listener = if webchat.enabled { self.addresses(&host) } else { "none".into() };
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
            "the configuration is fine\nprogram   aethon {}\nhome      {}\nlistener  {listener}\naccess    {access}\nmodel     {} by {}, {readiness}\nbudget    {}\nwebhooks  {}\ndashboard {}\nmemory    {}\ncommands  {}",
            crate::version::long(),
            self.home.path().display(),
            model.model,
            model.provider,
            crate::preflight::budget(&self.config.budget, &self.unpriced()),
            on(has_webhooks),
            on(webchat.enabled && config.dashboard.enabled),
            wiring::memory::sentence(self),
            Protection::of_this_machine().describe(),
        ) + &self.database_lines()
            + &self.reach().iter().map(reach_line).collect::<String>()
            + &crate::messengers::summary(&self.config)
            + &self.model_concerns()
    }

    /// What an owner should know of the configured models, one line each.
    fn model_concerns(&self) -> String {
        let concerns = wiring::model::concerns(self);
        concerns.iter().map(|concern| format!("\nwarning   {}; {}", concern.message, concern.fix)).collect()
    }

    /// What the assistant can read, run and send.
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

    /// The models without a known price while a daily ceiling is set, including those for embedding and transcription.
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

    /// The secrets to mask in logs and tool output.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let configured = self.config.secrets().into_iter().chain(self.aws.secrets()).cloned();
        configured.chain(aethon_config::credentials::values(&self.home.credentials())).collect()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock))
    }
}

/// The line of `--check` for one ability.
fn reach_line(reach: &Reach) -> String {
    let word = if reach.is_open { "open      " } else { "reach     " };
    format!("\n{word}{}", reach.sentence())
}

fn on(enabled: bool) -> &'static str {
    if enabled { "on" } else { "off" }
}
