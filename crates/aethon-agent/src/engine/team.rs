//! The specialists as the shared state of an engine sees them. How one is asked (`delegation`) works on that state, so it is handed
//! in from outside.

use std::sync::Arc;

use aethon_core::tool::Tool;

use crate::agent::Agent;
use crate::specialists::Roster;

/// Who can be asked, and by which tools.
pub(super) trait Team: Send + Sync {
    /// Those that there are now.
    fn roster(&self) -> Roster;

    /// The tools by which these are asked.
    fn tools(&self, agents: &[Agent]) -> Arc<[Arc<dyn Tool>]>;
}
