//! An agent is its models, its prompt and its tools.
//!
//! Several agents run on one engine. They share storage, hooks, approvals and the meter ([`crate::Services`]), so no
//! agent bypasses a guard or the budget; a specialist differs in its prompt, in the tools it may call and in its
//! model. A message names the agent that is to answer it ([`aethon_core::message::Inbound::agent`]).

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::ids::AgentName;
use aethon_core::tool::ToolSource;
use async_trait::async_trait;

use crate::models::Models;
use crate::prompt::Prompt;

/// One agent.
#[derive(Clone)]
#[non_exhaustive]
pub struct Agent {
    /// Its name, which messages use to address it.
    pub name: AgentName,
    /// The agent's purpose in a few words, for people and for the agent that delegates to it.
    pub role: String,
    /// The models, in the order in which they are tried.
    pub models: Models,
    /// A smaller model for summaries, if there is one; the main ones are its fallback.
    pub small: Option<Models>,
    /// Other models that a conversation may choose. Only that of the main agent is used, for all agents.
    pub directory: Option<Arc<dyn ModelDirectory>>,
    /// Whether its smaller model names the conversations that it begins.
    pub names_conversations: bool,
    /// Whether it uses the main agent's models, whatever those are.
    pub follows_main: bool,
    /// The system prompt of every conversation.
    pub prompt: Arc<Prompt>,
    /// The sources of its tools; the engine puts every guard in front of them.
    pub tools: Vec<Arc<dyn ToolSource>>,
}

/// The models of an agent, for replacing them at run time.
#[derive(Clone)]
pub struct AgentModels {
    /// The models, in the order in which they are tried.
    pub models: Models,
    /// A smaller model for summaries, if there is one.
    pub small: Option<Models>,
    /// Other models that a conversation may choose, if there are any.
    pub directory: Option<Arc<dyn ModelDirectory>>,
}

/// The models that a conversation or a message chooses by name.
#[async_trait]
pub trait ModelDirectory: Send + Sync {
    /// Returns what a name stands for; `None` if there is no such model. Called at the beginning of a turn, so it must be
    /// cheap and do no I/O.
    fn find(&self, name: &str) -> Option<ChosenModels>;

    /// Checks that a model of this name can be chosen, perhaps by asking its service.
    async fn check(&self, name: &str) -> Result<()>;
}

/// What the name of a model stands for.
pub enum ChosenModels {
    /// The models that answer when nothing is chosen.
    Configured,
    /// These.
    Others(AgentModels),
}

impl Agent {
    /// Creates the main agent, which answers when a message names no other. It has no tools yet.
    pub fn main(models: Models, prompt: Arc<Prompt>) -> Self {
        Self::new(AgentName::default(), models, prompt).with_role("assistant")
    }

    /// Creates an agent with this name and no tools.
    pub fn new(name: AgentName, models: Models, prompt: Arc<Prompt>) -> Self {
        Self {
            name,
            role: "specialist".into(),
            models,
            small: None,
            directory: None,
            names_conversations: false,
            follows_main: false,
            prompt,
            tools: Vec::new(),
        }
    }

    /// Uses the main agent's models, whatever those are, if `follows`.
    #[must_use]
    pub fn following_main(self, follows: bool) -> Self {
        Self { follows_main: follows, ..self }
    }

    /// Sets the agent's purpose.
    #[must_use]
    pub fn with_role(self, role: impl Into<String>) -> Self {
        Self { role: role.into(), ..self }
    }

    /// Sets the smaller model for summaries.
    #[must_use]
    pub fn with_small(self, small: Option<Models>) -> Self {
        Self { small, ..self }
    }

    /// Has the smaller model, if there is one, name the conversations that it begins.
    #[must_use]
    pub fn naming_conversations(self, names: bool) -> Self {
        Self { names_conversations: names, ..self }
    }

    /// Sets the other models that a conversation may choose.
    #[must_use]
    pub fn with_directory(self, directory: Option<Arc<dyn ModelDirectory>>) -> Self {
        Self { directory, ..self }
    }

    /// Sets the tool sources, in this order.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Arc<dyn ToolSource>>) -> Self {
        Self { tools, ..self }
    }
}
