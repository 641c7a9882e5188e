//! One owner's rules: the entries in the configuration and the built-in list.

use std::path::Path;

use super::entries::{self, Entry};
use super::marks::cleaned;
use super::meter::Meter;
use super::paths::Homes;
use super::refusal::Refusal;
use super::walk::Walk;

/// The longest command that is read, in bytes.
const MAX_LEN: usize = 256 << 10;

/// Which commands are refused. Built once, cheap to use.
#[derive(Debug, Clone)]
pub struct ShellRules {
    entries: Vec<Entry>,
    homes: Homes,
}

impl ShellRules {
    /// Combines the entries of `security.blocked_commands` with the built-in danger list. `home` is the user's own
    /// directory.
    pub fn new(blocked: &[String], home: Option<&Path>) -> Self {
        let entries = blocked.iter().filter(|entry| !entry.trim().is_empty()).map(|entry| Entry::new(entry));
        Self { entries: entries.collect(), homes: Homes::new(home) }
    }

    /// Checks a command. Every text gets a verdict: what cannot be read to its end is refused.
    ///
    /// # Errors
    ///
    /// Why the command must not run.
    pub fn check(&self, command: &str) -> Result<(), Refusal> {
        let folded = entries::fold(command);
        if let Some(entry) = self.entries.iter().find(|entry| entry.stands_in(&folded)) {
            return Err(Refusal::Contains(entry.text.clone()));
        }
        self.walk(command).1.map(drop)
    }

    /// Returns every command that a text may run, as its words, and what reading it cost, for tests and fuzzers.
    /// `UNKNOWN` in a word matches anything.
    ///
    /// # Errors
    ///
    /// Why the command must not run.
    pub fn commands(&self, command: &str) -> Result<Vec<Vec<String>>, Refusal> {
        self.walk(command).1
    }

    /// Returns what judging a command costs.
    pub fn meter(&self, command: &str) -> Meter {
        self.walk(command).0
    }

    fn walk(&self, command: &str) -> (Meter, Result<Vec<Vec<String>>, Refusal>) {
        if command.len() > MAX_LEN {
            return (Meter::default(), Err(Refusal::TooInvolved));
        }
        let mut walk = Walk::new(&self.entries, &self.homes);
        let result = walk.script(&cleaned(command), "");
        (walk.meter, result.map(|_| walk.seen))
    }
}
