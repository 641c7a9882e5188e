//! What a person may want to happen to a piece of work.

use serde::{Deserialize, Serialize};

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
