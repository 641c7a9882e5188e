//! The agents of an engine as they run: each with its tools behind the guards, and with what was learnt of its models.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::ids::AgentName;

use super::knowledge::ModelKnowledge;
use crate::agent::{Agent, AgentModels};
use crate::options::Options;
use crate::services::Services;
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
        Self { main, others: by_name }
    }

    /// The same agents, the main one with other models.
    pub(super) fn with_models(&self, models: AgentModels, services: &Services, options: &Options) -> Self {
        let AgentModels { models, small } = models;
        let main = Agent { models, small, ..self.main.agent.clone() };
        Self { main: Arc::new(RunningAgent::new(main, services, options)), others: self.others.clone() }
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
