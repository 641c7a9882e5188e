//! A checked configuration and the parts that come with it, as plain data. [`crate::loading`] makes it, [`crate::wiring`] reads it.

use std::path::PathBuf;
use std::sync::Arc;

use aethon_config::{Config, LimitsSet, Sources};
use aethon_core::channel::Channel;
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::event::EventBus;
use aethon_core::feature::Features;
use aethon_core::hook::Hook;
use aethon_core::live::Live;
use aethon_core::log::{LogBook, LogFormat};
use aethon_core::model::ModelProvider;
use aethon_core::secret::Secret;
use aethon_core::storage::Storage;
use aethon_core::tool::Tool;
use aethon_guard::redact::Redactor;
use aethon_providers::{AwsEnvironment, Catalog};
use aethon_tools::{CommandSlots, DockerSandbox, LanguageServers};

use crate::error::{Error, Result};
use crate::flags::Flags;
use crate::home::Home;
use crate::live_choices::LiveChoices;
use crate::logging::{LogLevel, Logging, Stderr, journal};
use crate::model_health::ModelHealth;
use crate::reach::Reach;
use crate::wiring::messenger_parts::AllowLists;

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
    pub(crate) source: Source,
    pub(crate) shared: Shared,
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

/// The inputs of a configuration, kept so that it can be reloaded.
#[derive(Clone, Default)]
pub(crate) struct Source {
    /// Files, flags, and the environment as it was at startup.
    pub(crate) sources: Sources,
    pub(crate) insecure_bind: bool,
    pub(crate) demo: bool,
    /// Whether the program serves the HTTP application itself.
    pub(crate) is_mounted: bool,
    pub(crate) launcher: Option<PathBuf>,
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
    pub(crate) allowed_senders: AllowLists,
    /// The board on which each part reports its state.
    pub(crate) features: Features,
    /// Whether the model answers.
    pub(crate) model_health: ModelHealth,
    /// The models that a conversation may choose.
    pub(crate) choices: LiveChoices,
    /// The Docker sandbox, if commands run in Docker.
    pub(crate) docker: Option<DockerSandbox>,
    /// The language servers, used by the tool and the checks after edits.
    pub(crate) lsp: Option<Arc<LanguageServers>>,
    /// The command slots, shared by everything that runs commands.
    pub(crate) commands: CommandSlots,
    /// The storage limits that the owner has set.
    pub(crate) limits_set: LimitsSet,
}

impl Source {
    /// Whether the offline model answers for a configuration that may name a model.
    pub(crate) fn is_demo(&self, names_a_model: bool) -> bool {
        self.demo && !names_a_model && self.parts.model.is_none()
    }
}

impl Prepared {
    /// Reads the configuration of these sources alone, for a command.
    pub(crate) fn of(sources: &Sources) -> Result<Self> {
        let source = Source { sources: sources.clone(), ..Source::default() };
        Self::read(source, Shared::default())
    }

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

    /// Describes access to files, commands and the network.
    pub fn reach(&self) -> Vec<Reach> {
        crate::reach::reach(&self.config, self.flags.user_home.as_deref())
    }

    /// The configured log, for a program's `main` to install.
    pub fn logging(&self, format: LogFormat, files: bool) -> Logging {
        let keep = usize::try_from(self.config.logging.keep_files).unwrap_or(usize::MAX);
        Logging {
            level: self.config.logging.level,
            switch: self.shared.log_level.clone(),
            format,
            stderr: match journal::is_on_stderr(self.source.sources.variable("JOURNAL_STREAM")) {
                true => Stderr::Journal,
                false => Stderr::Lines,
            },
            files: files.then(|| (self.home.logs(), keep)),
            redactor: self.shared.redactor.clone(),
            book: self.shared.logs.clone(),
            bus: self.shared.bus.clone(),
            clock: self.clock(),
        }
    }

    /// The secrets to mask in logs and tool output.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let configured = self.config.secrets().into_iter().chain(self.aws.secrets()).cloned();
        configured.chain(aethon_config::credentials::values(&self.home.credentials())).collect()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.source.parts.clock.clone().unwrap_or_else(|| Arc::new(SystemClock))
    }
}
