//! The engine's current specialists, and the tools that call them.

use std::sync::{Arc, Weak};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};

use super::ask::Ask;
use super::conversations::Conversations;
use crate::agent::Agent;
use crate::engine::shared::Shared;
use crate::engine::team::Team;
use crate::roster::{Roster, SpecialistSource};

/// The state that an engine needs to call specialists.
pub(in crate::engine) struct Delegation {
    source: Arc<dyn SpecialistSource>,
    shared: Weak<Shared>,
    conversations: Arc<Conversations>,
}

impl Delegation {
    pub(in crate::engine) fn new(source: Arc<dyn SpecialistSource>, shared: Weak<Shared>) -> Self {
        Self { source, shared, conversations: Arc::default() }
    }

    /// Returns the source of their tools, for the agent that may ask.
    pub(in crate::engine) fn tool_source(&self) -> Arc<dyn ToolSource> {
        Arc::new(AskSource(self.shared.clone()))
    }
}

impl Team for Delegation {
    fn roster(&self) -> Roster {
        self.source.roster()
    }

    fn refresh(&self) {
        self.source.refresh();
    }

    fn is_from_files(&self) -> bool {
        self.source.is_from_files()
    }

    fn tools(&self, agents: &[Agent]) -> Arc<[Arc<dyn Tool>]> {
        let tool = |agent: &Agent| {
            Arc::new(Ask::new(agent, self.shared.clone(), self.conversations.clone())) as Arc<dyn Tool>
        };
        agents.iter().map(tool).collect()
    }
}

struct AskSource(Weak<Shared>);

impl ToolSource for AskSource {
    fn name(&self) -> &str {
        "specialists"
    }

    fn tools(&self) -> ToolSnapshot {
        // While the engine is being built there is none yet; the source is read again before every turn.
        self.0.upgrade().map(|shared| shared.agents.current().asks().clone()).unwrap_or_default()
    }
}
