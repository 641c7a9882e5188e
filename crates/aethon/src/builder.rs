//! From a home directory to a running assistant, in steps that can be inspected.
//!
//! [`Builder`] collects the location and the parts. [`Builder::load`] reads and checks the configuration ([`Prepared`]) and
//! touches nothing else. [`Prepared::open`] opens the storage and starts the engine ([`crate::Aethon`]). An embedding program adds
//! its own tools, hooks and model to the builder. The daemon continues with [`crate::service::Service`].

use std::path::PathBuf;
use std::sync::Arc;

use aethon_config::Sources;
use aethon_core::channel::Channel;
use aethon_core::clock::Clock;
use aethon_core::hook::Hook;
use aethon_core::model::ModelProvider;
use aethon_core::storage::Storage;
use aethon_core::tool::Tool;
use serde::Serialize;

use crate::error::Result;
use crate::loading;
use crate::prepared::{Parts, Prepared, Shared, Source};

/// What one call sets: texts `key=value`, or why there are none.
type Setting = std::result::Result<Vec<String>, aethon_config::Error>;

/// The location and the parts of an assistant that do not come from its configuration.
#[derive(Default)]
pub struct Builder {
    home: Option<PathBuf>,
    file: Option<PathBuf>,
    flags: Vec<String>,
    settings: Vec<Setting>,
    insecure_bind: bool,
    demo: bool,
    is_mounted: bool,
    launcher: Option<PathBuf>,
    parts: Parts,
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

    /// Sets one key: `key=value` with a TOML value; a bare word is a string. It wins over the file and the environment.
    /// [`Builder::load`] refuses a key that does not exist.
    #[must_use]
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(Ok(vec![setting.into()]));
        self
    }

    /// Sets one key, such as `budget.daily_usd`, to anything that can be serialized. Otherwise like [`Builder::set`]. In a string,
    /// `${NAME}` and `${credential:NAME}` refer to a variable and to a stored secret, and `$$` is a dollar sign.
    #[must_use]
    pub fn set_value(mut self, key: &str, value: impl Serialize) -> Self {
        self.settings.push(aethon_config::setting(key, value).map(|setting| vec![setting]));
        self
    }

    /// Sets all keys of a table, whose fields are sections as in the file: a map, a structure of your own, or the result of
    /// `serde_json::json!`. Otherwise like [`Builder::set_value`].
    #[must_use]
    pub fn settings(mut self, table: impl Serialize) -> Self {
        self.settings.push(aethon_config::settings(table));
        self
    }

    /// Sets one key like the `--set` of the programs: for a person, so an unknown key is only a warning
    /// ([`Prepared::warnings`]), and above everything that [`Builder::set`] sets.
    #[must_use]
    pub fn flag(mut self, setting: impl Into<String>) -> Self {
        self.flags.push(setting.into());
        self
    }

    /// Allows a publicly reachable bind without a token, because the caller's own proxy authenticates.
    #[must_use]
    pub fn insecure_bind(mut self, allow: bool) -> Self {
        self.insecure_bind = allow;
        self
    }

    /// Serves the HTTP application from your own server: [`Service`](crate::Service) binds no listener, and
    /// [`Service::http`](crate::Service::http) returns what answers requests. Say in `channels.webchat.host` which address your
    /// server listens on: beyond this machine, the assistant wants a token (`dashboard.auth_token`). Say in `server.base_path`
    /// below which path it is, unless it has the whole host. With `channels.webchat.enabled` off, there is none.
    #[must_use]
    pub fn mount(mut self) -> Self {
        self.is_mounted = true;
        self
    }

    /// Falls back to the offline model if the configuration names no model and there is no key for the default one, so that a
    /// first start has something to show. A configured model always wins.
    #[must_use]
    pub fn demo(mut self, allow: bool) -> Self {
        self.demo = allow;
        self
    }

    /// Sets the program that the kernel sandbox executes for each command, and that reads documents. Its `main` must call
    /// [`crate::step`] first; usually it is this very program. Without it the kernel sandbox is unavailable, and documents
    /// are refused.
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
        let mut sources =
            Sources::from_process(self.home, self.file, self.flags).map_err(loading::refused)?;
        for settings in self.settings {
            sources.program.extend(settings.map_err(loading::refused)?);
        }
        let Self { insecure_bind, demo, is_mounted, launcher, parts, .. } = self;
        let source = Source { sources, insecure_bind, demo, is_mounted, launcher, parts };
        Prepared::read(source, Shared::default())
    }
}
