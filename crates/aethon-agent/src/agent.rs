//! Who answers: an agent is its models, its prompt and its tools.
//!
//! Several agents run over one engine. Storage, hooks, approvals and the meter are [`crate::Services`] that they share, so
//! no agent gets round a guard or the budget; what makes one a specialist is what it is told, what it may call and
//! which model it asks. A message names the agent that is to answer it ([`aethon_core::message::Inbound::agent`]).

use std::sync::Arc;

use aethon_core::ids::AgentName;
use aethon_core::tool::ToolSource;

use crate::models::Models;
use crate::prompt::Prompt;

/// One agent.
#[derive(Clone)]
#[non_exhaustive]
pub struct Agent {
    /// Its name, by which messages ask for it.
    pub name: AgentName,
    /// What it is for, in a few words: for people, and for the agent that asks it.
    pub role: String,
    /// The models, in the order in which they are tried.
    pub models: Models,
    /// A smaller model for summaries, if there is one; the others stand in for it.
    pub small: Option<Models>,
    /// Whether it asks the models of the main agent, whatever those are.
    pub follows_main: bool,
    /// What it is told before every conversation.
    pub prompt: Arc<Prompt>,
    /// Where its tools come from; the engine puts every guard before them.
    pub tools: Vec<Arc<dyn ToolSource>>,
}

/// The models of an agent, for changing them while it runs.
#[derive(Clone)]
pub struct AgentModels {
    /// The models, in the order in which they are tried.
    pub models: Models,
    /// A smaller model for summaries, if there is one.
    pub small: Option<Models>,
}

impl Agent {
    /// The main agent, which answers when a message names no other. It has no tools yet.
    pub fn main(models: Models, prompt: Arc<Prompt>) -> Self {
        Self::new(AgentName::default(), models, prompt).with_role("assistant")
    }

    /// An agent of this name, without tools.
    pub fn new(name: AgentName, models: Models, prompt: Arc<Prompt>) -> Self {
        Self {
            name,
            role: "specialist".into(),
            models,
            small: None,
            follows_main: false,
            prompt,
            tools: Vec::new(),
        }
    }

    /// With the models of the main agent, whatever those are, if `follows`.
    #[must_use]
    pub fn following_main(self, follows: bool) -> Self {
        Self { follows_main: follows, ..self }
    }

    /// For this.
    #[must_use]
    pub fn with_role(self, role: impl Into<String>) -> Self {
        Self { role: role.into(), ..self }
    }

    /// With a smaller model for summaries.
    #[must_use]
    pub fn with_small(self, small: Option<Models>) -> Self {
        Self { small, ..self }
    }

    /// With the tools of these sources, in this order.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Arc<dyn ToolSource>>) -> Self {
        Self { tools, ..self }
    }
}
