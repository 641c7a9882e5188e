//! The storage of work.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::task::Work;
use crate::error::Result;

/// What a person wants to happen to a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkCommand {
    /// End it.
    Stop,
    /// Pause it.
    Pause,
    /// Continue it.
    Resume,
}

impl WorkCommand {
    /// Returns the word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    /// Returns the command with this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Stop, Self::Pause, Self::Resume].into_iter().find(|command| command.as_str() == word)
    }
}

/// Stores work. One program works on it; others read it, add to it and record commands.
#[async_trait]
pub trait WorkStore: Send + Sync {
    /// Stores a new piece of work.
    async fn add(&self, work: &Work) -> Result<()>;

    /// Updates a piece of work, except its command. `false` if there is none with its id.
    async fn save(&self, work: &Work) -> Result<bool>;

    /// Returns one by its id.
    async fn work(&self, id: &str) -> Result<Option<Work>>;

    /// Returns the newest pieces of work, newest first; with `open`, only unfinished ones, oldest first.
    async fn works(&self, open: bool, limit: usize) -> Result<Vec<Work>>;

    /// Records a command; `None` clears it. `false` if there is no such work, or it is over.
    async fn set_command(&self, id: &str, command: Option<WorkCommand>) -> Result<bool>;

    /// Returns whether a persistent switch is on; off if it was never set.
    async fn switch(&self, name: &str) -> Result<bool>;

    /// Sets a persistent switch.
    async fn set_switch(&self, name: &str, on: bool) -> Result<()>;
}
