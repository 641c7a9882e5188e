//! The parts that a request for approval needs.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::agents::AgentBoard;
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;

use super::audit::Audit;
use crate::open_approvals::OpenApprovals;

/// The parts that asking a person before a tool runs needs.
#[derive(Clone)]
pub struct Approvals {
    /// The open questions.
    pub open: OpenApprovals,
    /// Where open questions are announced.
    pub bus: EventBus,
    /// Where it shows that an agent is waiting for an answer.
    pub board: AgentBoard,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How long a person may take to answer.
    pub timeout: Duration,
    /// Where the outcome is recorded.
    pub audit: Audit,
}
