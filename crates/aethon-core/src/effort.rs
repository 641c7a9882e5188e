//! How much a reasoning model should think.

use serde::{Deserialize, Serialize};

/// How much a reasoning model should think before it answers; each provider encodes this differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, if the model allows that.
    None,
    /// A little.
    Low,
    /// As much as vendors consider usual.
    Medium,
    /// As much as the task takes.
    High,
}

impl Effort {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Low, Self::Medium, Self::High];

    /// Returns the word in the configuration and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns the effort with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == word)
    }
}
