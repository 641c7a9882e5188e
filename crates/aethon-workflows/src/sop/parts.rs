//! What running SOPs needs of the rest of the program.

use std::sync::Arc;

use aethon_core::agents::AgentBoard;
use aethon_core::clock::Clock;
use aethon_core::event::{Event, EventBus};
use aethon_core::session::TurnLog;
use aethon_core::sop::{SopCatalog, SopRuns};

/// What running SOPs needs. Cheap to clone.
#[derive(Clone)]
pub struct SopParts {
    /// The SOPs.
    pub catalog: Arc<dyn SopCatalog>,
    /// The stored runs.
    pub runs: Arc<dyn SopRuns>,
    /// The stored turns.
    pub turns: Arc<dyn TurnLog>,
    /// Knows which turn called which.
    pub board: AgentBoard,
    /// Announces changes of runs.
    pub bus: EventBus,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl SopParts {
    /// Announces the state of a run.
    pub(super) async fn publish(&self, run_id: &str) {
        if self.bus.has_listeners()
            && let Ok(Some(run)) = self.runs.run(run_id).await
        {
            self.bus.publish(|| Event::SopRun(Arc::new(run)));
        }
    }
}
