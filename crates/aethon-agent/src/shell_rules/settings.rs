//! Assignments (`NAME=value`), and variables whose values other programs execute.

use super::state::Value;
use super::word::{Piece, Word};

/// A parsed assignment.
#[derive(Debug)]
pub(super) struct Setting<'t> {
    pub(super) name: &'t str,
    pub(super) index: Option<&'t str>,
    adds: bool,
    pub(super) value: &'t str,
}

/// Parses `NAME=value`, `NAME+=value` or `NAME[index]=value`.
pub(super) fn parse(text: &str) -> Option<Setting<'_>> {
    let length = text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
    let (name, rest) = text.split_at(length);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (index, rest) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (index, rest) = rest.split_once(']')?;
            (Some(index), rest)
        }
        None => (None, rest),
    };
    let adds = rest.starts_with("+=");
    let value = rest.strip_prefix("+=").or_else(|| rest.strip_prefix('='))?;
    Some(Setting { name, index, adds, value })
}

impl Setting<'_> {
    /// The value after the assignment, given the one before it.
    pub(super) fn applied(&self, before: &Value, was_set: bool) -> Value {
        let key = self.index.unwrap_or("0").to_owned();
        let own = if was_set { before.get(&key) } else { "" };
        let text = if self.adds { format!("{own}{}", self.value) } else { self.value.to_owned() };
        if self.index.is_none() && !self.adds && before.0.len() <= 1 {
            return Value::text(text);
        }
        let mut elements = if was_set { before.0.clone() } else { Vec::new() };
        match elements.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = text,
            None => elements.push((key, text)),
        }
        elements.sort_by_key(|(key, _)| key.parse::<i64>().unwrap_or(i64::MAX));
        Value(elements)
    }
}

/// The name that a word assigns to.
pub(super) fn name_of(word: &Word) -> String {
    let Some(Piece::Text { text, .. }) = word.first() else { return String::new() };
    text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// The words of the array that a word assigns.
pub(super) fn array_of(word: &Word) -> Option<&[Word]> {
    match word.last() {
        Some(Piece::Array(words)) => Some(words),
        _ => None,
    }
}

/// Whether a word appends to the existing value.
pub(super) fn adds(word: &Word) -> bool {
    matches!(word.first(), Some(Piece::Text { text, .. }) if text.ends_with("+="))
}

/// The key of an element appended to these.
pub(super) fn next_key(elements: &[(String, String)]) -> i64 {
    let last = elements.iter().filter_map(|(key, _)| key.parse::<i64>().ok()).max();
    last.map_or(0, |last| last.saturating_add(1))
}

/// What reads a variable's value, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// A command, which is executed.
    Command,
    /// A text in which substitutions are expanded.
    Text,
    /// A file, which is run or loaded.
    File,
    /// A file with git settings.
    Settings,
    /// A folder of programs.
    Folder,
}

/// Whether the variable with this name holds something that is run, and in which form.
pub(super) fn holds(name: &str) -> Option<Held> {
    match name {
        "BASH_ENV"
        | "ENV"
        | "LD_PRELOAD"
        | "LD_AUDIT"
        | "DYLD_INSERT_LIBRARIES"
        | "PYTHONSTARTUP"
        | "INPUTRC" => Some(Held::File),
        "GIT_CONFIG" | "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" => Some(Held::Settings),
        "GIT_EXEC_PATH" | "GIT_TEMPLATE_DIR" => Some(Held::Folder),
        "PS0" | "PS1" | "PS2" | "PS4" => Some(Held::Text),
        "PROMPT_COMMAND"
        | "PAGER"
        | "MANPAGER"
        | "SYSTEMD_PAGER"
        | "EDITOR"
        | "VISUAL"
        | "BROWSER"
        | "FCEDIT"
        | "LESSOPEN"
        | "LESSCLOSE"
        | "SSH_ASKPASS"
        | "SUDO_ASKPASS"
        | "RSYNC_RSH"
        | "CVS_RSH"
        | "FZF_DEFAULT_COMMAND"
        | "RUSTC_WRAPPER"
        | "CARGO_BUILD_RUSTC_WRAPPER"
        | "MAKE"
        | "TAR_OPTIONS"
        | "GZIP_OPT"
        | "PERL5DB" => Some(Held::Command),
        name if name.starts_with("GIT_") => {
            let command = ["COMMAND", "PAGER", "EDITOR", "ASKPASS", "SSH", "DIFF", "PROXY_COMMAND"];
            let is_value = name.starts_with("GIT_CONFIG_VALUE") || name == "GIT_CONFIG_PARAMETERS";
            (is_value || command.iter().any(|end| name.ends_with(end))).then_some(Held::Command)
        }
        _ => None,
    }
}
