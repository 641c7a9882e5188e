//! The specialists as the engine's shared state sees them. Asking one (`delegation`) works on that state, so the
//! implementation is passed in from outside.

use std::sync::Arc;

use aethon_core::tool::Tool;

use crate::agent::Agent;
use crate::roster::Roster;

/// Who can be asked, and by which tools.
pub(super) trait Team: Send + Sync {
    /// The specialists as they were last read.
    fn roster(&self) -> Roster;

    /// Reads them again if something has changed. Blocks.
    fn refresh(&self);

    /// Returns whether refreshing reads files.
    fn is_from_files(&self) -> bool;

    /// The tools by which these agents are asked.
    fn tools(&self, agents: &[Agent]) -> Arc<[Arc<dyn Tool>]>;
}
