//! Asking a specialist: a tool `ask_NAME` for each, whose call is a turn of that agent in a session of its own.
//!
//! Nothing is special about that turn: the same door, hooks, approvals, meter, storage and recording. Questions to a person
//! are put to whoever watches the turn that asked; a stop of that turn stops it; only its answer comes back. Where the
//! specialist has seen content from outside, the answer is marked as such. After a crash it is closed as interrupted and not
//! taken up again: the turn that asked learns that and decides.

mod ask;
mod conversations;
mod stop;
mod surface;

use std::sync::{Arc, Weak};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};

use self::ask::Ask;
use self::conversations::Conversations;
use super::shared::Shared;
use crate::agent::Agent;
use crate::specialists::{Roster, SpecialistSource};

/// The channel that the sessions of specialists belong to.
const CHANNEL: &str = "agent";

/// What an engine needs to have specialists asked.
#[derive(Clone)]
pub(super) struct Delegation {
    source: Arc<dyn SpecialistSource>,
    shared: Weak<Shared>,
    conversations: Arc<Conversations>,
}

impl Delegation {
    pub(super) fn new(source: Arc<dyn SpecialistSource>, shared: Weak<Shared>) -> Self {
        Self { source, shared, conversations: Arc::default() }
    }

    /// Those that there are now.
    pub(super) fn roster(&self) -> Roster {
        self.source.roster()
    }

    /// The tools by which these are asked.
    pub(super) fn tools(&self, agents: &[Agent]) -> Arc<[Arc<dyn Tool>]> {
        let tool = |agent: &Agent| {
            Arc::new(Ask::new(agent, self.shared.clone(), self.conversations.clone())) as Arc<dyn Tool>
        };
        agents.iter().map(tool).collect()
    }

    /// The source of these tools, for the agent that may ask.
    pub(super) fn source(&self) -> Arc<dyn ToolSource> {
        Arc::new(AskSource(self.shared.clone()))
    }
}

struct AskSource(Weak<Shared>);

impl ToolSource for AskSource {
    fn name(&self) -> &str {
        "specialists"
    }

    fn tools(&self) -> ToolSnapshot {
        // While the engine is being built there is none yet; it looks again before every turn.
        self.0.upgrade().map(|shared| shared.agents().asks().clone()).unwrap_or_default()
    }
}
