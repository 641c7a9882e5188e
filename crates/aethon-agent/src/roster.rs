//! Where an engine gets its specialists from: the agents that its main agent may ask.

use std::sync::Arc;

use crate::agent::Agent;

/// The specialists at one moment.
#[derive(Clone, Default)]
pub struct Roster {
    /// Changes whenever the specialists do, and only then.
    pub version: u64,
    /// The specialists.
    pub agents: Arc<[Agent]>,
}

/// Provides an engine with its specialists.
pub trait SpecialistSource: Send + Sync {
    /// Returns the specialists as they were last read. Called often, so it must be cheap and read nothing.
    fn roster(&self) -> Roster;

    /// Reads them again if something has changed. Blocks for as long as the file system does.
    fn refresh(&self) {}

    /// Returns whether refreshing reads files.
    fn is_from_files(&self) -> bool {
        false
    }
}
