//! The specialists as the engine's shared state sees them. Asking one (`delegation`) works on that state, so the
//! implementation is passed in from outside.

use std::sync::Arc;

use aethon_core::tool::Tool;

use crate::agent::Agent;
use crate::roster::Roster;

/// The specialists that can be called, and the tools that call them.
pub(super) trait Team: Send + Sync {
    /// Returns the specialists as they were last read.
    fn roster(&self) -> Roster;

    /// Reads them again if something has changed. Blocks.
    fn refresh(&self);

    /// Returns whether refreshing reads files.
    fn is_from_files(&self) -> bool;

    /// Returns the tools that call these agents.
    fn tools(&self, agents: &[Agent]) -> Arc<[Arc<dyn Tool>]>;
}
