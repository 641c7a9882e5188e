//! The storage of work.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::task::Work;
use crate::error::Result;

/// What a person wants of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkWish {
    /// It is to end.
    Stop,
    /// It is to rest.
    Pause,
    /// It is to go on.
    Resume,
}

impl WorkWish {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }

    /// The wish that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Stop, Self::Pause, Self::Resume].into_iter().find(|wish| wish.as_str() == word)
    }
}

/// Keeps work. One program works on it; others read it, add to it and say what they wish.
#[async_trait]
pub trait WorkStore: Send + Sync {
    /// Keeps a new one.
    async fn add(&self, work: &Work) -> Result<()>;

    /// Keeps one as it is now; its wish stays what it is. `false` when there is none of its name.
    async fn save(&self, work: &Work) -> Result<bool>;

    /// One by its name.
    async fn work(&self, id: &str) -> Result<Option<Work>>;

    /// The newest, newest first; with `open`, those only that are not over, oldest first.
    async fn works(&self, open: bool, limit: usize) -> Result<Vec<Work>>;

    /// Says what is wished of one; `None` takes it back. `false` when there is none, or it is over.
    async fn set_wish(&self, id: &str, wish: Option<WorkWish>) -> Result<bool>;

    /// Whether a switch is on that outlives the program; off when nobody has touched it.
    async fn switch(&self, name: &str) -> Result<bool>;

    /// Sets such a switch.
    async fn set_switch(&self, name: &str, on: bool) -> Result<()>;
}
