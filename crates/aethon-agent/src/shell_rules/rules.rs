//! The rules for one owner: the entries of the configuration and the built-in list.

use std::path::Path;

use super::entries::{self, Entry};
use super::judge::Judge;
use super::paths::Homes;
use super::refusal::Refusal;

/// Which commands are refused. Cheap to use, made once.
#[derive(Debug, Clone)]
pub struct ShellRules {
    entries: Vec<Entry>,
    homes: Homes,
}

impl ShellRules {
    /// These entries of `security.blocked_commands`, and the built-in danger list. `home` is the person's own directory.
    pub fn new(blocked: &[String], home: Option<&Path>) -> Self {
        let entries = blocked.iter().filter(|entry| !entry.trim().is_empty()).map(|entry| Entry::new(entry));
        Self { entries: entries.collect(), homes: Homes::new(home) }
    }

    /// Checks a command. Total: any text is judged, and what cannot be read to its end is refused.
    ///
    /// # Errors
    ///
    /// Why the command must not run.
    pub fn check(&self, command: &str) -> Result<(), Refusal> {
        let folded = entries::fold(command);
        if let Some(entry) = self.entries.iter().find(|entry| entry.stands_in(&folded)) {
            return Err(Refusal::Contains(entry.text.clone()));
        }
        Judge::new(&self.entries, &self.homes).judge(command)
    }
}
