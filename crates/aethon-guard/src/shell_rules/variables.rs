//! Arguments, and variables whose values other programs execute.

use crate::words::is_in;

/// The words that a script or a function was called with.
#[derive(Debug, Clone)]
pub(super) enum Arguments {
    Known(Vec<String>),
    Unknown,
}

/// How the value of a variable is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// As a command.
    Command,
    /// As a text in which substitutions are expanded.
    Text,
    /// As a file, which is run or loaded.
    File,
}

const FILES: &str = "BASH_ENV ENV LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONSTARTUP INPUTRC";
const COMMANDS: &str = "PROMPT_COMMAND PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL BROWSER FCEDIT LESSOPEN LESSCLOSE \
    SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH CVS_RSH FZF_DEFAULT_COMMAND RUSTC_WRAPPER MAKE TAR_OPTIONS PERL5DB";
/// The ends of names of git's variables that hold commands.
const OF_GIT: [&str; 6] = ["COMMAND", "PAGER", "EDITOR", "ASKPASS", "SSH", "DIFF"];

/// Whether the variable with this name holds something that is run, and in which form.
pub(super) fn held(name: &str) -> Option<Held> {
    let is_of_git = || {
        name.starts_with("GIT_CONFIG_VALUE")
            || name == "GIT_CONFIG_PARAMETERS"
            || name.starts_with("GIT_") && OF_GIT.iter().any(|end| name.ends_with(end))
    };
    match name {
        "PS0" | "PS1" | "PS2" | "PS4" => Some(Held::Text),
        _ if is_in(FILES, name) => Some(Held::File),
        _ if is_in(COMMANDS, name) || is_of_git() => Some(Held::Command),
        _ => None,
    }
}
