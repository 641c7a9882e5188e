//! The command-line flags and environment variables that the program depends on, read once at startup.

use std::path::PathBuf;

use aethon_config::Sources;

/// The locale variables besides `LANG`.
const LOCALE: [&str; 4] = ["LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANGUAGE"];

/// The command-line flags and environment variables that the program depends on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    /// `--insecure-bind`: the operator's own authenticating proxy stands in front.
    pub(crate) insecure_bind: bool,
    /// The path of this program, for the kernel sandbox.
    pub(crate) launcher: Option<PathBuf>,
    /// `DOCKER_HOST`, if set.
    pub(crate) docker_host: Option<String>,
    /// `HOME`: the user's home directory, in which file tools may read.
    pub(crate) user_home: Option<PathBuf>,
    /// The home directory of the account, whatever the environment says.
    pub(crate) account_home: Option<PathBuf>,
    /// The variables that say where sockets are.
    pub(crate) socket_variables: Vec<(String, String)>,
    /// The variables that move places of a home elsewhere.
    pub(crate) place_variables: Vec<(String, String)>,
    /// The variables by which programs find the user's desktop session.
    pub(crate) desktop_variables: Vec<(String, String)>,
    /// `PATH`: where commands find programs.
    pub(crate) path: Option<String>,
    /// `LANG`: the language and the encoding of commands.
    pub(crate) lang: Option<String>,
    /// `LC_ALL` and the like: the rest of the locale, for programs that run beside the assistant.
    pub(crate) locale: Vec<(String, String)>,
    /// Whether another assistant started this one, directly or through a command.
    pub(crate) is_nested: bool,
    /// `TMPDIR`: where commands put temporary files.
    pub(crate) tmpdir: Option<String>,
}

impl Flags {
    /// Reads the variables from the environment as it was when the sources were collected.
    pub(crate) fn new(sources: &Sources, insecure_bind: bool, launcher: Option<PathBuf>) -> Self {
        let text = |name: &str| sources.variable(name).map(str::to_owned);
        Self {
            insecure_bind,
            launcher,
            docker_host: text("DOCKER_HOST"),
            user_home: sources.variable("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
            account_home: aethon_tools::account_home(),
            place_variables: pairs(sources, aethon_tools::place_variables()),
            socket_variables: pairs(sources, aethon_tools::socket_variables()),
            desktop_variables: pairs(sources, aethon_tools::DESKTOP_VARIABLES.iter().copied()),
            path: text("PATH"),
            lang: text("LANG"),
            locale: pairs(sources, LOCALE.into_iter()),
            is_nested: sources.variable(aethon_tools::MARK).is_some(),
            tmpdir: text("TMPDIR"),
        }
    }
}

/// The variables among these that are set, with their values.
fn pairs(sources: &Sources, names: impl Iterator<Item = &'static str>) -> Vec<(String, String)> {
    names.filter_map(|name| Some((name.to_owned(), sources.variable(name)?.to_owned()))).collect()
}
