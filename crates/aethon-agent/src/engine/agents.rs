//! The engine's running agents, each with its guarded tools and the knowledge about its models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::agents::AgentProfile;
use aethon_core::error::{Error, Result};
use aethon_core::ids::AgentName;
use aethon_core::tool::{Tool, ToolSnapshot};

use super::knowledge::ModelKnowledge;
use crate::agent::{Agent, AgentModels, ChosenModels, ModelDirectory};
use crate::options::Options;
use crate::roster::Roster;
use crate::services::Services;
use crate::tasks::Tasks;
use crate::toolbox::{Approvals, GuardedToolbox};
use crate::window::{ContextWindow, Limits, WindowOwner};

/// How many agents with models chosen by name are kept; behind that all are built again.
const MAX_CHOSEN: usize = 64;

/// An agent that can run turns.
pub(super) struct RunningAgent {
    pub(super) agent: Agent,
    pub(super) toolbox: Arc<GuardedToolbox>,
    pub(super) knowledge: ModelKnowledge,
    /// The name by which its models were chosen, if they are not its own.
    pub(super) chosen: Option<Arc<str>>,
}

impl RunningAgent {
    fn new(agent: Agent, services: &Services, options: &Options) -> Self {
        let approvals = Approvals {
            open: services.open_approvals.clone(),
            bus: services.bus.clone(),
            board: services.board.clone(),
            clock: services.clock.clone(),
            timeout: options.approval_timeout,
            audit: services.audit.clone(),
        };
        Self {
            toolbox: Arc::new(GuardedToolbox::new(agent.tools.clone(), services.hooks.clone(), approvals)),
            knowledge: ModelKnowledge::new(&services.learned, &agent.models.capabilities()),
            agent,
            chosen: None,
        }
    }

    /// Returns the same agent with models that were chosen by name.
    fn with_models(&self, name: &str, models: AgentModels, services: &Services) -> Self {
        let AgentModels { models, small, .. } = models;
        Self {
            toolbox: self.toolbox.clone(),
            knowledge: ModelKnowledge::new(&services.learned, &models.capabilities()),
            agent: Agent { models, small, ..self.agent.clone() },
            chosen: Some(name.into()),
        }
    }

    /// Returns the owner of its windows: token counts and sizes are those of its models.
    pub(super) fn window_owner(&self) -> WindowOwner {
        WindowOwner { agent: self.agent.name.clone(), model: self.chosen.clone() }
    }

    /// Returns the limits on requests to its models.
    pub(super) fn limits(&self, options: &Options) -> Limits {
        options.limits_of(&self.agent.models.capabilities())
    }

    /// Creates a window for a session of which nothing is known yet.
    pub(super) fn new_window(&self, options: &Options) -> ContextWindow {
        ContextWindow::new(self.limits(options).rule(), self.knowledge.counter())
    }

    /// Stores the knowledge about its models, in the background.
    pub(super) fn keep_what_was_learnt(&self, tasks: &Tasks) {
        self.knowledge.keep(&self.agent.models.capabilities(), tasks);
    }

    /// Returns the provider of its first model.
    pub(super) fn provider(&self) -> String {
        self.agent.models.capabilities().provider.clone()
    }

    /// Returns the model that its replies name when no model has answered.
    pub(super) fn model(&self) -> String {
        self.agent.models.capabilities().model.clone()
    }
}

/// All agents of an engine.
pub(super) struct Agents {
    main: Arc<RunningAgent>,
    others: BTreeMap<AgentName, Arc<RunningAgent>>,
    /// The tools by which the main agent asks specialists, with their version.
    asks: ToolSnapshot,
    /// The same agents with models that conversations have chosen, by agent and name.
    chosen: Mutex<BTreeMap<(AgentName, String), Arc<RunningAgent>>>,
}

impl Agents {
    /// Sets up the main agent and the others. If two have the same name, the first wins.
    pub(super) fn new(main: Agent, others: Vec<Agent>, services: &Services, options: &Options) -> Self {
        let run = |agent| Arc::new(RunningAgent::new(agent, services, options));
        let main = run(main);
        let mut by_name = BTreeMap::new();
        for agent in others {
            if agent.name == main.agent.name || by_name.contains_key(&agent.name) {
                tracing::warn!(agent = %agent.name, "a second agent of this name is left out");
                continue;
            }
            by_name.insert(agent.name.clone(), run(agent));
        }
        Self { main, others: by_name, asks: ToolSnapshot::default(), chosen: Mutex::default() }
    }

    /// Returns the same main agent with these specialists beside it, and the tools by which it asks them.
    pub(super) fn with_specialists(
        &self,
        roster: &Roster,
        tools: Arc<[Arc<dyn Tool>]>,
        services: &Services,
        options: &Options,
    ) -> Self {
        let run = |agent: &Agent| Arc::new(RunningAgent::new(self.equipped(agent), services, options));
        let by_name = roster.agents.iter().map(|agent| (agent.name.clone(), run(agent)));
        let asks = ToolSnapshot { version: roster.version, tools };
        Self { main: self.main.clone(), others: by_name.collect(), asks, chosen: Mutex::default() }
    }

    /// Returns the tools by which the main agent asks specialists.
    pub(super) fn asks(&self) -> &ToolSnapshot {
        &self.asks
    }

    /// Returns the same agents, with other models for the main one.
    pub(super) fn with_models(&self, models: AgentModels, services: &Services, options: &Options) -> Self {
        let AgentModels { models, small, directory } = models;
        let main = Agent { models, small, directory, ..self.main.agent.clone() };
        let main = Arc::new(RunningAgent::new(main, services, options));
        let (others, asks) = (self.others.clone(), self.asks.clone());
        let mut agents = Self { main, others, asks, chosen: Mutex::default() };
        for (name, other) in &self.others {
            if other.agent.follows_main {
                let other = RunningAgent::new(agents.equipped(&other.agent), services, options);
                agents.others.insert(name.clone(), Arc::new(other));
            }
        }
        agents
    }

    /// Gives an agent the main agent's models if it uses those.
    fn equipped(&self, agent: &Agent) -> Agent {
        if !agent.follows_main {
            return agent.clone();
        }
        let Agent { models, small, .. } = self.main.agent.clone();
        Agent { models, small, ..agent.clone() }
    }

    /// Returns the models that conversations and messages may choose.
    pub(super) fn directory(&self) -> Option<&Arc<dyn ModelDirectory>> {
        self.main.agent.directory.as_ref()
    }

    /// Returns an agent as it answers with the models of this name; `None` if there are none.
    pub(super) fn choosing(
        &self,
        agent: &Arc<RunningAgent>,
        name: &str,
        services: &Services,
    ) -> Option<Arc<RunningAgent>> {
        let key = (agent.agent.name.clone(), name.to_owned());
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = chosen.get(&key) {
            return Some(known.clone());
        }
        let models = match self.directory()?.find(name)? {
            ChosenModels::Configured => return Some(agent.clone()),
            ChosenModels::Others(models) => models,
        };
        if chosen.len() >= MAX_CHOSEN {
            chosen.clear();
        }
        let running = Arc::new(agent.with_models(name, models, services));
        chosen.insert(key, running.clone());
        Some(running)
    }

    /// Describes all agents.
    pub(super) fn profiles(&self) -> Vec<AgentProfile> {
        let running = std::iter::once(&self.main).chain(self.others.values());
        let profile = |one: &Arc<RunningAgent>| AgentProfile {
            name: one.agent.name.clone(),
            role: one.agent.role.clone(),
            model: one.model(),
        };
        running.map(profile).collect()
    }

    /// Returns the main agent.
    pub(super) fn main(&self) -> &Arc<RunningAgent> {
        &self.main
    }

    /// Returns the main agent's guarded tools.
    pub(super) fn toolbox(&self) -> Arc<GuardedToolbox> {
        self.main.toolbox.clone()
    }

    /// Returns the agent with this name.
    pub(super) fn get(&self, name: &AgentName) -> Option<&Arc<RunningAgent>> {
        if *name == self.main.agent.name { Some(&self.main) } else { self.others.get(name) }
    }

    /// Returns the agent with this name, as requested by a client.
    ///
    /// # Errors
    ///
    /// There is no such agent.
    pub(super) fn find(&self, name: &AgentName) -> Result<&Arc<RunningAgent>> {
        self.get(name).ok_or_else(|| {
            let names = std::iter::once(&self.main.agent.name).chain(self.others.keys());
            let names: Vec<&str> = names.map(AgentName::as_str).collect();
            Error::invalid(format!("there is no agent `{name}`; there are: {}", names.join(", ")))
        })
    }

    /// Returns the agent with this name, or the main one. For reporting on a turn whose agent is gone.
    pub(super) fn get_or_main(&self, name: &AgentName) -> &Arc<RunningAgent> {
        self.get(name).unwrap_or(&self.main)
    }
}
