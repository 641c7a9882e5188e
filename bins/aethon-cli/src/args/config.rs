//! The arguments of `config`.

use std::ffi::OsString;

use clap::Subcommand;

use crate::completion;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the configuration file.
    Path,
    /// Print the effective configuration with secrets masked.
    Show {
        /// Print JSON instead of TOML.
        #[arg(long)]
        json: bool,
    },
    /// Print one value.
    Get {
        /// The dotted key, such as model.provider.
        #[arg(add = completion::keys())]
        key: String,
    },
    /// Change one value in the file and keep its comments.
    Set {
        /// The dotted key.
        #[arg(add = completion::keys())]
        key: String,
        /// The value, as TOML or as a bare word.
        #[arg(allow_negative_numbers = true)]
        value: Option<String>,
        /// Write a key that this version does not know.
        #[arg(long)]
        force: bool,
        /// Let the aethon-server that runs on this home apply the change at once, if it can.
        #[arg(long)]
        reload: bool,
    },
    /// Take one value out of the file, so that its default counts again.
    Unset {
        /// The dotted key.
        #[arg(add = completion::keys())]
        key: String,
        /// Let the aethon-server that runs on this home apply the change at once, if it can.
        #[arg(long)]
        reload: bool,
    },
    /// Let the aethon-server that runs on this home read its configuration again.
    Reload,
    /// List the keys with their values, where those come from, and what a change needs to take effect.
    List {
        /// Only keys that contain this text.
        part: Option<String>,
        /// Only keys that are set, by the file, a variable or a flag. `--set` without KEY=VALUE says the same.
        #[arg(long = "changed")]
        set: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Explain a key, or the keys of a section: meaning, value and its source, default, what is allowed, and what a change needs
    /// to take effect.
    Explain {
        /// The dotted key or section, such as budget.daily_usd or budget.
        #[arg(add = completion::keys())]
        key: String,
    },
    /// Change the file in your editor ($VISUAL or $EDITOR); it is checked before it is taken over.
    Edit,
    /// Check the configuration: exit status 0 if it is valid, 2 if it is not.
    Check {
        /// Treat warnings as failures.
        #[arg(long)]
        strict: bool,
    },
    /// Print the JSON Schema of the configuration file.
    Schema,
}

/// Parts `config set KEY=VALUE`, the form that `--set` has, into the key and the value.
pub(crate) fn with_parted_set(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(command) = arguments.windows(2).position(|pair| pair[0] == "config" && pair[1] == "set") else {
        return arguments;
    };
    let is_flag = |word: &OsString| word == "--force" || word == "--reload";
    let mut rest = (command + 2..arguments.len()).filter(|at| !is_flag(&arguments[*at]));
    let (Some(at), None) = (rest.next(), rest.next()) else { return arguments };
    let parted = arguments[at].to_str().and_then(|word| word.split_once('='));
    let parted = parted.filter(|(key, _)| !key.is_empty() && !key.starts_with('-'));
    if let Some((key, value)) = parted.map(|(key, value)| (OsString::from(key), OsString::from(value))) {
        arguments[at] = key;
        arguments.insert(at + 1, value);
    }
    arguments
}

/// In `config list --set`, replaces the flag without a value, which every command has with one, by the flag of the list.
pub(crate) fn with_bare_set(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_list = arguments.windows(2).any(|pair| pair[0] == "config" && pair[1] == "list");
    for index in 0..arguments.len() {
        let has_value = arguments.get(index + 1).is_some_and(|next| next.to_string_lossy().contains('='));
        if is_list && arguments[index] == "--set" && !has_value {
            arguments[index] = "--changed".into();
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_its_value_may_be_one_word() {
        let check = |line: &str, expected: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let found: Vec<String> =
                with_parted_set(words).into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(found.join(" "), expected);
        };
        check("aethon-cli config set model.provider=ollama", "aethon-cli config set model.provider ollama");
        check("aethon-cli config set --reload a.b=c=d", "aethon-cli config set --reload a.b c=d");
        check("aethon-cli config set a.b=-1 --force", "aethon-cli config set a.b -1 --force");
        check("aethon-cli config set a.b c=d", "aethon-cli config set a.b c=d");
        check("aethon-cli config set a.b", "aethon-cli config set a.b");
        check("aethon-cli --set a=b config list", "aethon-cli --set a=b config list");
    }
}
