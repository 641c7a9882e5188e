//! Refuses commands that the owner has blocked, and those that nobody means to have run by an assistant.
//!
//! Two layers, as the specification has it. A command that contains an entry of `security.blocked_commands` is refused,
//! wherever the entry stands, runs of blanks and tabs counting as one. Then the command is read as a shell would read it,
//! and each command in it (behind quotes, `;`, pipes, substitutions, `env`, `xargs`, `sh -c`) is compared with the entries
//! again, order and spelling of options aside, and with a built-in list of dangers.
//!
//! This is a tripwire: it stops accidents and crude attacks, and it tells what tripped it. Whoever wants to get past it
//! can compute a command at run time. The wall is the sandbox (`security.sandbox`).
//!
//! `word` has the words of the language, `reader` reads it, `fields` says what a word stands for, `wrappers` what is run
//! by what, `judge` walks over all of it with `entries` and `danger` in hand.

mod danger;
mod entries;
mod fields;
mod interpreters;
mod judge;
mod paths;
mod reader;
#[cfg(test)]
mod tests;
mod word;
mod wrappers;

use std::path::Path;

use aethon_core::hook::{Hook, Verdict};
use aethon_core::message::ToolCall;
use aethon_core::tool::{ArgumentRole, ToolContext, ToolSpec};
use async_trait::async_trait;
use serde_json::Value;

use entries::Entry;
use judge::Judge;
use paths::Homes;

/// Which commands are refused.
#[derive(Debug, Clone)]
pub struct CommandRules {
    entries: Vec<Entry>,
    homes: Homes,
}

impl CommandRules {
    /// These entries of `security.blocked_commands`, and the built-in danger list. `home` is the person's own directory.
    pub fn new(blocked: &[String], home: Option<&Path>) -> Self {
        let entries = blocked.iter().filter(|entry| !entry.trim().is_empty()).map(|entry| Entry::new(entry));
        Self { entries: entries.collect(), homes: Homes::new(home) }
    }

    /// Why this command is refused, in a sentence that names the entry; `None` when it may run.
    pub fn refusal(&self, command: &str) -> Option<String> {
        let folded = entries::fold(command);
        if let Some(entry) = self.entries.iter().find(|entry| entry.stands_in(&folded)) {
            let entry = &entry.text;
            return Some(format!(
                "the command was refused: it contains {entry:?}, which is listed in `security.blocked_commands`"
            ));
        }
        Judge::new(&self.entries, &self.homes).judge(command)
    }
}

#[async_trait]
impl Hook for CommandRules {
    fn name(&self) -> &'static str {
        "security"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> Verdict {
        let commands = spec.roles.iter().filter(|(_, role)| **role == ArgumentRole::Command);
        for (name, _) in commands {
            let Some(value) = call.input.get(name) else { continue };
            if let Some(reason) = self.refusal(&command_of(value)) {
                return Verdict::Deny(reason);
            }
        }
        Verdict::Allow
    }
}

/// The command in an argument: a string, or a list of words.
fn command_of(value: &Value) -> String {
    match value {
        Value::String(command) => command.clone(),
        Value::Array(words) => words.iter().map(command_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
