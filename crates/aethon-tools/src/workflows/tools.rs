//! The workflow tools as a list.

use std::sync::Arc;

use aethon_core::event::EventBus;
use aethon_core::schedule::Schedule;
use aethon_core::sop::{SopCatalog, SopRuns};
use aethon_core::tool::Tool;

use super::schedule::{ListScheduledJobs, RemoveScheduledJob, ScheduleTask};
use super::sop_step::SopStep;

/// Returns the tools in the order in which models see them.
pub fn workflow_tools(
    sops: Arc<dyn SopCatalog>,
    runs: Arc<dyn SopRuns>,
    schedule: Arc<dyn Schedule>,
    bus: EventBus,
) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(SopStep::new(sops, runs, bus)),
        Arc::new(ScheduleTask::new(schedule.clone())),
        Arc::new(ListScheduledJobs::new(schedule.clone())),
        Arc::new(RemoveScheduledJob::new(schedule)),
    ]
}
