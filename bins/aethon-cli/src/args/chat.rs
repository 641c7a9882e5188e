//! The arguments of the chat, which need no command before them.

use std::ffi::OsString;

use clap::Args;

use crate::completion;

/// Flags of the chat.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChatArgs {
    /// The session to continue.
    #[arg(long, short, default_value = "default", add = completion::sessions())]
    pub(crate) session: String,
    /// Continue the newest conversation.
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    pub(crate) continues: bool,
    /// Keep the conversation in memory only: it is in no list, and gone when you leave it.
    #[arg(long, conflicts_with_all = ["session", "continues"])]
    pub(crate) temporary: bool,
    /// Edit lines with the keys of vi [default: if ~/.inputrc sets editing-mode vi].
    #[arg(long)]
    pub(crate) vi: bool,
}

impl Default for ChatArgs {
    fn default() -> Self {
        Self { session: "default".to_owned(), continues: false, temporary: false, vi: false }
    }
}

/// Options of every command that take a value.
const WITH_VALUE: [&str; 6] = ["--home", "--config", "--set", "--log-level", "--log-format", "--connect"];

/// The option of every command that takes none.
const NO_COLOR: &str = "--no-color";

/// Leaves out what asks for the help of `help` itself, which clap takes for a command: `aethon-cli help --help`.
pub(crate) fn without_help_of_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(command_place(&arguments)).is_some_and(|word| word == "help") {
        arguments.retain(|word| word != "--help" && word != "-h");
    }
    arguments
}

/// Returns where the first word is that is no option of every command, nor the value of one.
fn command_place(arguments: &[OsString]) -> usize {
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        if WITH_VALUE.contains(&word) {
            at += 2;
        } else if word == NO_COLOR || WITH_VALUE.iter().any(|option| word.starts_with(&format!("{option}=")))
        {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// Adds the command where a line has only the chat's own flags: `aethon-cli -s garden`.
pub(crate) fn with_chat(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let at = command_place(&arguments);
    if let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        let name = word.split('=').next().unwrap_or_default();
        let is_short = word.starts_with("-s") && !word.starts_with("--");
        if is_short || ["--session", "-c", "--continue", "--temporary", "--vi"].contains(&name) {
            arguments.insert(at, "chat".into());
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_help_is_the_help() {
        let check = |line: &str, expected: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let found = without_help_of_help(words);
            let found: Vec<&str> = found.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(found.join(" "), expected);
        };
        check("aethon-cli help --help", "aethon-cli help");
        check("aethon-cli --home /h help --help", "aethon-cli --home /h help");
        check("aethon-cli help config -h", "aethon-cli help config");
        check("aethon-cli config --help", "aethon-cli config --help");
    }

    #[test]
    fn flags_of_the_chat_need_no_command() {
        let check = |line: &str, expected: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let found: Vec<String> =
                with_chat(words).into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(found.join(" "), expected);
        };
        check("aethon-cli -s garden", "aethon-cli chat -s garden");
        check("aethon-cli --home x --set=a=b -c", "aethon-cli --home x --set=a=b chat -c");
        check("aethon-cli --no-color -s garden", "aethon-cli --no-color chat -s garden");
        check("aethon-cli --session=garden", "aethon-cli chat --session=garden");
        check("aethon-cli --temporary", "aethon-cli chat --temporary");
        check("aethon-cli ask -s garden", "aethon-cli ask -s garden");
        check("aethon-cli --home -s", "aethon-cli --home -s");
        check("aethon-cli --version", "aethon-cli --version");
        check("aethon-cli", "aethon-cli");
    }
}
