//! Settings of the tools. The facade fills them from the configuration.

use std::path::PathBuf;
use std::time::Duration;

use aethon_core::sandbox::Sandbox;

use crate::docker::DockerSandbox;
use crate::sandbox_limits::SandboxLimits;
use crate::shell::CommandSlots;
use crate::web::WebOptions;

/// Default `PATH` if the environment has none.
pub(crate) const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Settings of all tools. Start from the default and change what differs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The assistant's home, which is closed to all child processes; the workspace inside stays open.
    pub home: Option<PathBuf>,
    /// The workspace directory, to which relative paths refer.
    pub workspace: PathBuf,
    /// The person's home directory as the environment names it, in which files may be read unless tools are confined to
    /// the workspace. Its credential and start-up places are closed.
    pub user_home: Option<PathBuf>,
    /// `security.workspace_only`: whether file tools are confined to the workspace.
    pub workspace_only: bool,
    /// The assistant's own files and directories, which no tool may open: configuration, database, credentials, `run`,
    /// `recordings`. A file includes its siblings with a longer name (`aethon.db-wal`, `config.toml.bak`).
    pub own: Vec<PathBuf>,
    /// The places that are closed, besides the assistant's own files.
    pub places: PlaceOptions,
    /// The configured port of the assistant, which is closed to all child processes.
    pub port: Option<u16>,
    /// The file in which a running daemon publishes its address, whose port is closed, too.
    pub address_file: Option<PathBuf>,
    /// How commands run.
    pub shell: ShellOptions,
    /// Limit on concurrent commands.
    pub commands: CommandSlots,
    /// The person's desktop.
    pub desktop: DesktopOptions,
    /// The containers, if `security.sandbox` is `docker`.
    pub docker: Option<DockerSandbox>,
    /// The addresses that the web tools may reach.
    pub web: WebOptions,
    /// Maximum characters of a repository map; 0 if there is no such tool.
    pub map_chars: usize,
}

/// The places that are closed to tools and commands.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PlaceOptions {
    /// The home directory of the account that the program runs as, whose places are closed like those of
    /// [`Options::user_home`]. If neither is known, commands reach nothing in the directories where homes usually are, and
    /// write in the workspace only.
    pub account_home: Option<PathBuf>,
    /// Those of [`crate::place_variables`] that are set: where people move places of a home.
    pub variables: Vec<(String, String)>,
    /// `security.blocked_paths`: closed places and names in addition to the built-in ones.
    pub blocked: Vec<String>,
    /// `security.allowed_paths`: built-in places and names that are open after all.
    pub allowed: Vec<String>,
    /// `security.allowed_sockets`: kinds and paths of sockets that commands may connect to after all.
    pub allowed_sockets: Vec<String>,
    /// Those of [`crate::socket_variables`] that are set: where sockets are.
    pub socket_variables: Vec<(String, String)>,
}

impl PlaceOptions {
    /// Applies a change and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// Environment variables by which programs find a desktop.
pub const DESKTOP_VARIABLES: [&str; 6] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Kind and location of the person's desktop.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DesktopOptions {
    /// Whether it is a Mac.
    pub is_mac: bool,
    /// Search path for its programs; the usual directories if absent.
    pub path: Option<String>,
    /// Those of [`DESKTOP_VARIABLES`] that are set. Desktop programs get them, commands do not.
    pub variables: Vec<(String, String)>,
}

#[allow(clippy::derivable_impls, reason = "it cannot be on a Mac")]
impl Default for DesktopOptions {
    fn default() -> Self {
        Self { is_mac: cfg!(target_os = "macos"), path: None, variables: Vec::new() }
    }
}

/// How commands run. They get these variables and `TERM`, and nothing else of the program's own environment.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShellOptions {
    /// `security.sandbox`: where they run.
    pub sandbox: Sandbox,
    /// Resource limits of a sandbox.
    pub limits: SandboxLimits,
    /// The executable of this program, which the kernel sandbox starts again; its `main` must call [`crate::step`]
    /// first. Without it there is no kernel sandbox.
    pub launcher: Option<PathBuf>,
    /// Timeout of a command if the model does not specify one.
    pub timeout: Duration,
    /// Maximum timeout that a model may specify.
    pub max_timeout: Duration,
    /// `PATH`; the usual directories if absent.
    pub path: Option<String>,
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `LANG`; UTF-8 without a language if absent.
    pub lang: Option<String>,
    /// `TMPDIR`.
    pub tmpdir: Option<String>,
}

impl Default for ShellOptions {
    fn default() -> Self {
        Self {
            sandbox: Sandbox::default(),
            limits: SandboxLimits::default(),
            launcher: None,
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            path: None,
            home: None,
            lang: None,
            tmpdir: None,
        }
    }
}

impl Options {
    /// Applies a change and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl ShellOptions {
    /// Applies a change and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the complete environment of a command.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let home = self.home.as_ref().and_then(|home| home.to_str()).map(str::to_owned);
        let path = self.path.clone().unwrap_or_else(|| USUAL_PATH.to_owned());
        let lang = self.lang.clone().unwrap_or_else(|| "C.UTF-8".to_owned());
        [
            ("PATH", Some(path)),
            ("HOME", home),
            ("LANG", Some(lang)),
            ("TERM", Some("dumb".to_owned())),
            ("TMPDIR", self.tmpdir.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
    }
}
