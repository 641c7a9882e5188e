//! The agents of an engine as they run: each with its tools behind the guards, and with what was learnt of its models.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::agents::AgentProfile;
use aethon_core::error::{Error, Result};
use aethon_core::ids::AgentName;
use aethon_core::tool::{Tool, ToolSnapshot};

use super::knowledge::ModelKnowledge;
use crate::agent::{Agent, AgentModels};
use crate::options::Options;
use crate::services::Services;
use crate::specialists::Roster;
use crate::tasks::Tasks;
use crate::toolbox::{Approvals, GuardedToolbox};
use crate::window::{ContextWindow, Limits};

/// An agent that can take turns.
pub(super) struct RunningAgent {
    pub(super) agent: Agent,
    pub(super) toolbox: Arc<GuardedToolbox>,
    pub(super) knowledge: ModelKnowledge,
}

impl RunningAgent {
    fn new(agent: Agent, services: &Services, options: &Options) -> Self {
        let approvals = Approvals {
            pending: services.approvals.clone(),
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
        }
    }

    /// What a request to its models may take.
    pub(super) fn limits(&self, options: &Options) -> Limits {
        options.limits_of(&self.agent.models.capabilities())
    }

    /// A window for a session of which nothing is known yet.
    pub(super) fn new_window(&self, options: &Options) -> ContextWindow {
        ContextWindow::new(self.limits(options).rule(), self.knowledge.counter())
    }

    /// Writes down what was learnt of its models, beside the turn.
    pub(super) fn keep_what_was_learnt(&self, tasks: &Tasks) {
        self.knowledge.keep(&self.agent.models.capabilities(), tasks);
    }

    /// The provider of its first model.
    pub(super) fn provider(&self) -> String {
        self.agent.models.capabilities().provider.clone()
    }

    /// The model that its replies are named after when none has answered.
    pub(super) fn model(&self) -> String {
        self.agent.models.capabilities().model.clone()
    }
}

/// All agents of an engine.
pub(super) struct Agents {
    main: Arc<RunningAgent>,
    others: BTreeMap<AgentName, Arc<RunningAgent>>,
    /// The tools by which the main one asks specialists, and the version of these.
    asks: ToolSnapshot,
}

impl Agents {
    /// The main agent and others. Of two with the same name the first counts.
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
        Self { main, others: by_name, asks: ToolSnapshot::default() }
    }

    /// The main agent as it is, with these beside it, which it asks by these tools.
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
        Self { main: self.main.clone(), others: by_name.collect(), asks }
    }

    /// The tools by which the main agent asks specialists.
    pub(super) fn asks(&self) -> &ToolSnapshot {
        &self.asks
    }

    /// The same agents, the main one with other models.
    pub(super) fn with_models(&self, models: AgentModels, services: &Services, options: &Options) -> Self {
        let AgentModels { models, small } = models;
        let main = Agent { models, small, ..self.main.agent.clone() };
        let main = Arc::new(RunningAgent::new(main, services, options));
        let mut agents = Self { main, others: self.others.clone(), asks: self.asks.clone() };
        for (name, other) in &self.others {
            if other.agent.follows_main {
                let other = RunningAgent::new(agents.equipped(&other.agent), services, options);
                agents.others.insert(name.clone(), Arc::new(other));
            }
        }
        agents
    }

    /// An agent with the models of the main one, where it wants those.
    fn equipped(&self, agent: &Agent) -> Agent {
        if !agent.follows_main {
            return agent.clone();
        }
        let Agent { models, small, .. } = self.main.agent.clone();
        Agent { models, small, ..agent.clone() }
    }

    /// Who they are.
    pub(super) fn profiles(&self) -> Vec<AgentProfile> {
        let running = std::iter::once(&self.main).chain(self.others.values());
        let profile = |one: &Arc<RunningAgent>| AgentProfile {
            name: one.agent.name.clone(),
            role: one.agent.role.clone(),
            model: one.model(),
        };
        running.map(profile).collect()
    }

    /// The tools of the main agent, behind its guards.
    pub(super) fn toolbox(&self) -> Arc<GuardedToolbox> {
        self.main.toolbox.clone()
    }

    /// The agent that goes by this name.
    pub(super) fn get(&self, name: &AgentName) -> Option<&Arc<RunningAgent>> {
        if *name == self.main.agent.name { Some(&self.main) } else { self.others.get(name) }
    }

    /// The agent that goes by this name, for whoever asks for it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(super) fn find(&self, name: &AgentName) -> Result<&Arc<RunningAgent>> {
        self.get(name).ok_or_else(|| {
            let names = std::iter::once(&self.main.agent.name).chain(self.others.keys());
            let names: Vec<&str> = names.map(AgentName::as_str).collect();
            Error::invalid(format!("there is no agent `{name}`; there are: {}", names.join(", ")))
        })
    }

    /// The agent that goes by this name, else the main one: for what has to be said of a turn whose agent is gone.
    pub(super) fn get_or_main(&self, name: &AgentName) -> &Arc<RunningAgent> {
        self.get(name).unwrap_or(&self.main)
    }
}
