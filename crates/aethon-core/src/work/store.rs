//! The storage of work.

use async_trait::async_trait;

use super::command::WorkCommand;
use super::task::Work;
use crate::error::Result;

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
