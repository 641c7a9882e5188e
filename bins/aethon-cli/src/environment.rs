//! The few environment variables that concern the terminal and not the assistant.

use std::sync::OnceLock;

/// Whether the command line asked for no colours. Everything that prints asks for the style of the terminal anew, because
/// its width changes, and the flag is as much a fact about the terminal as its variables are.
static NO_COLOR: OnceLock<bool> = OnceLock::new();

/// Keeps what `--no-color` says, for the life of the program.
pub(crate) fn keep_no_color(flag: bool) {
    // The first call counts, and `main` makes the only one.
    let _ = NO_COLOR.set(flag);
}

/// Returns whether the user asked for no colours: by the flag, or by the variable (<https://no-color.org>: set and not empty).
#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR is about this terminal; the configuration never sees it"
)]
pub(crate) fn no_color() -> bool {
    NO_COLOR.get().is_some_and(|flag| *flag)
        || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns whether the terminal declares that it can only print.
#[expect(clippy::disallowed_methods, reason = "TERM is about this terminal; the configuration never sees it")]
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Returns whether the terminal is known to show links (OSC 8). What it is called decides; `FORCE_HYPERLINK` overrides it, as for
/// other programs: `0` for none, anything else for links.
#[expect(clippy::disallowed_methods, reason = "the name of this terminal; the configuration never sees it")]
pub(crate) fn shows_links() -> bool {
    has_links(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn has_links(variable: impl Fn(&str) -> Option<String>) -> bool {
    if let Some(forced) = variable("FORCE_HYPERLINK") {
        return forced != "0";
    }
    let term = variable("TERM").unwrap_or_default();
    let version = |name: &str| variable(name).and_then(|version| version.parse::<u32>().ok());
    // Their own terminal may not show links, and the variables of the one around it are still set.
    if variable("TMUX").is_some() || term.starts_with("tmux") || term.starts_with("screen") || term == "dumb"
    {
        return false;
    }
    let is_named = ["xterm-kitty", "xterm-ghostty", "alacritty", "contour", "foot", "wezterm"]
        .iter()
        .any(|name| term == *name || term.starts_with(&format!("{name}-")));
    let program = variable("TERM_PROGRAM").unwrap_or_default();
    is_named
        || ["WezTerm", "iTerm.app", "ghostty", "rio", "vscode", "zed"].contains(&program.as_str())
        || version("VTE_VERSION").is_some_and(|version| version >= 5000)
        || version("KONSOLE_VERSION").is_some_and(|version| version >= 201_200)
        || variable("WT_SESSION").is_some()
}

/// Returns the home directory of the user, for `~` in a path that they type.
#[expect(
    clippy::disallowed_methods,
    reason = "a path that a person types at this terminal is about this terminal"
)]
pub(crate) fn user_home() -> Option<std::path::PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(Into::into)
}

/// Returns a path with `~/` as the user's home.
pub(crate) fn expanded(path: &str) -> std::path::PathBuf {
    let home = || path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (home(), user_home()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => path.into(),
    }
}

/// Returns the folder of the user's settings, if it is not the usual one.
#[expect(clippy::disallowed_methods, reason = "where systemd looks for the units of this user")]
pub(crate) fn user_config() -> Option<std::path::PathBuf> {
    std::env::var_os("XDG_CONFIG_HOME").map(std::path::PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Returns whether a variable of this shell has a value.
#[expect(clippy::disallowed_methods, reason = "services do not see this shell, which is worth a warning")]
pub(crate) fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Returns whether this terminal is at the other end of an SSH connection.
pub(crate) fn is_remote() -> bool {
    is_set("SSH_CONNECTION")
}

/// Returns the user's editor: `$VISUAL`, else `$EDITOR`.
#[expect(clippy::disallowed_methods, reason = "the editor of this terminal; the configuration never sees it")]
pub(crate) fn editor() -> Option<String> {
    let set = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    set.into_iter().find(|editor| !editor.trim().is_empty())
}

/// Returns the user's shell: `$SHELL`, else `sh`.
#[expect(clippy::disallowed_methods, reason = "the shell of this person; the configuration never sees it")]
pub(crate) fn shell() -> std::ffi::OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "sh".into())
}

/// Returns whether the user's settings for line editors ask for the keys of vi.
#[expect(
    clippy::disallowed_methods,
    reason = "the settings of this terminal's line editors, as readline reads them"
)]
pub(crate) fn prefers_vi() -> bool {
    let named = std::env::var_os("INPUTRC").filter(|path| !path.is_empty()).map(std::path::PathBuf::from);
    let file = named.or_else(|| Some(user_home()?.join(".inputrc")));
    // The size is limited, and a pipe is not waited for.
    let file = file.filter(|file| file.metadata().is_ok_and(|file| file.is_file() && file.len() < 1 << 20));
    file.and_then(|file| std::fs::read_to_string(file).ok()).is_some_and(|text| sets_vi(&text))
}

fn sets_vi(inputrc: &str) -> bool {
    let mode = inputrc.lines().rev().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_mode = words.next() == Some("set") && words.next() == Some("editing-mode");
        words.next().filter(|_| is_mode)
    });
    mode == Some("vi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_for_terminals_that_are_known_to_show_them() {
        let check = |set: &[(&str, &str)], expected: bool| {
            let value =
                |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(has_links(value), expected, "{set:?}");
        };
        check(&[("TERM", "xterm-256color")], false);
        check(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")], true);
        check(&[("TERM", "xterm-256color"), ("VTE_VERSION", "4800")], false);
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")], false);
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")], true);
        check(&[("TERM", "foot-extra")], true);
        check(&[("TERM", "xterm-kitty")], true);
        check(&[("TERM", "tmux-256color"), ("VTE_VERSION", "7600"), ("TMUX", "/tmp/x")], false);
        check(&[("TERM", "screen.xterm-256color"), ("KONSOLE_VERSION", "220401")], false);
        check(&[("TERM", "xterm"), ("FORCE_HYPERLINK", "1")], true);
        check(&[("TERM", "xterm-kitty"), ("FORCE_HYPERLINK", "0")], false);
        check(&[], false);
    }

    #[test]
    fn the_last_mode_of_an_inputrc_counts() {
        assert!(sets_vi("# mine\nset editing-mode emacs\n  set editing-mode vi\nset bell-style none\n"));
        assert!(!sets_vi("set editing-mode vi\nset editing-mode emacs\n"));
        assert!(!sets_vi("#set editing-mode vi\n\"\\e[A\": history-search-backward\n"));
    }
}
