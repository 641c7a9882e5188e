//! Models that a conversation or a message chooses by name.

use crate::agent::AgentModels;

/// Finds models by name. Called at the beginning of a turn, so it must be cheap and do no I/O.
pub trait ModelDirectory: Send + Sync {
    /// Returns what a name stands for; `None` if there is no such model.
    fn find(&self, name: &str) -> Option<ChosenModels>;
}

/// What the name of a model stands for.
pub enum ChosenModels {
    /// The models that answer when nothing is chosen.
    Configured,
    /// These.
    Others(AgentModels),
}
