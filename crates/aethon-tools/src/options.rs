//! What the tools may reach, as values. The facade fills them from the configuration.

use std::path::PathBuf;
use std::time::Duration;

use aethon_core::sandbox::Sandbox;

use crate::docker::DockerSandbox;
use crate::sandbox_limits::SandboxLimits;
use crate::shell::CommandSlots;
use crate::web::WebOptions;

/// Where programs are when the environment does not say.
pub(crate) const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The reach of the tools. Begin with the default and set what differs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The assistant's home, which is closed to whatever it starts; the workspace in it stays open.
    pub home: Option<PathBuf>,
    /// The workspace directory; relative paths are in it.
    pub workspace: PathBuf,
    /// The person's home directory, under which files may be read when they are not confined to the workspace.
    pub user_home: Option<PathBuf>,
    /// `security.workspace_only`: whether file tools are confined to the workspace.
    pub workspace_only: bool,
    /// The assistant's own files and directories that no tool may open: configuration, database, credentials, `run`,
    /// `recordings`. A file stands for its siblings with a longer name too (`aethon.db-wal`, `config.toml.bak`).
    pub own: Vec<PathBuf>,
    /// `security.blocked_paths`: places and names that are closed besides the built-in ones.
    pub blocked_paths: Vec<String>,
    /// `security.allowed_paths`: built-in places and names that are open after all.
    pub allowed_paths: Vec<String>,
    /// The port that is configured for the assistant, which is closed to whatever it starts.
    pub port: Option<u16>,
    /// Where a running daemon writes its address, whose port is closed too.
    pub address_file: Option<PathBuf>,
    /// How commands run.
    pub shell: ShellOptions,
    /// How many commands run at once.
    pub commands: CommandSlots,
    /// Where the person's desktop is.
    pub desktop: DesktopOptions,
    /// The containers, where `security.sandbox` is `docker`.
    pub docker: Option<DockerSandbox>,
    /// What the web tools reach.
    pub web: WebOptions,
    /// How many characters a map of a repository has; 0 where there is no such tool.
    pub map_chars: usize,
}

/// The variables by which programs find a desktop.
pub const DESKTOP_VARIABLES: [&str; 6] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Where the person's desktop is, and what kind of one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DesktopOptions {
    /// Whether it is a Mac.
    pub is_mac: bool,
    /// Where its programs are looked for; the usual directories when absent.
    pub path: Option<String>,
    /// Those of [`DESKTOP_VARIABLES`] that are set. Programs of the desktop get them, and commands do not.
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
    /// What a sandbox gives them.
    pub limits: SandboxLimits,
    /// This program as the kernel's sandbox starts it once more; its `main` calls [`crate::step`] first thing. Without one there
    /// is no such sandbox.
    pub launcher: Option<PathBuf>,
    /// How long one may take when the model does not say.
    pub timeout: Duration,
    /// The longest that a model can ask for.
    pub max_timeout: Duration,
    /// `PATH`; the usual directories when absent.
    pub path: Option<String>,
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `LANG`; UTF-8 without a language when absent.
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
    /// With what this changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl ShellOptions {
    /// With what this changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The whole environment of a command.
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
