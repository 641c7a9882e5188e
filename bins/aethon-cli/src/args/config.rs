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
        value: String,
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
