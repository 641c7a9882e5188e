//! The agents that answer at present: they change when a specialist's file, a page or the configuration of models does.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::ids::AgentName;
use aethon_core::learned::{ModelFact, ModelKey};
use aethon_core::live::Live;
use aethon_core::message::{Handling, Inbound};
use aethon_core::session::{TurnDefaults, no_such_model};
use aethon_files::BoundedReads;

use super::agents::{Agents, RunningAgent};
use super::team::Team;
use crate::agent::{Agent, AgentModels};
use crate::options::Options;
use crate::services::{Learned, Services};

/// The agents of an engine, and where changes of them are looked for.
pub(super) struct AgentPool {
    agents: Live<Agents>,
    /// The source of the specialists, if there may be some.
    team: Option<Arc<dyn Team>>,
    /// Where pages and specialists are read again between requests.
    reads: BoundedReads,
    services: Arc<Services>,
    options: Arc<Options>,
}

impl AgentPool {
    /// Sets the agents up, with the specialists that the main agent calls by tools.
    pub(super) fn new(
        (main, others): (Agent, Vec<Agent>),
        team: Option<Arc<dyn Team>>,
        services: Arc<Services>,
        options: Arc<Options>,
    ) -> Self {
        let agents = Agents::new(main, others, &services, &options);
        services.board.introduce(agents.profiles());
        let reads = BoundedReads::new("pages and specialists");
        let pool = Self { agents: Live::new(agents), team, reads, services, options };
        pool.current();
        pool
    }

    /// Returns the current agents. A caller that works with one keeps it to the end of the work.
    pub(super) fn current(&self) -> Arc<Agents> {
        let agents = self.agents.get();
        let Some(team) = &self.team else { return agents };
        let roster = team.roster();
        if roster.version == agents.asks().version {
            return agents;
        }
        let tools = team.tools(&roster.agents);
        let agents = agents.with_specialists(&roster, tools, &self.services, &self.options);
        self.services.board.introduce(agents.profiles());
        self.agents.set(agents);
        self.agents.get()
    }

    /// Reads the changed files that an agent's turn depends on again: its pages, and the specialists. Takes no longer
    /// than a deadline, after which the last version stays in force.
    pub(super) async fn refresh(&self, agent: &AgentName) {
        let prompt = self.agents.get().get_or_main(agent).agent.prompt.clone();
        let team = self.team.clone().filter(|team| team.is_from_files());
        if team.is_none() && !prompt.is_from_files() {
            return;
        }
        let read = move || {
            if let Some(team) = team {
                team.refresh();
            }
            prompt.refresh();
        };
        self.reads.run(read).await;
    }

    /// Returns whether an agent still answers with these models.
    pub(super) fn is_current(&self, agent: &Arc<RunningAgent>) -> bool {
        let agents = self.current();
        let own = agents.get(&agent.agent.name).cloned();
        let now = match &agent.chosen {
            Some(name) => own.and_then(|own| agents.choosing(&own, name, &self.services)),
            None => own,
        };
        now.is_some_and(|now| Arc::ptr_eq(&now, agent))
    }

    /// Returns the agent that answers a turn: with the models that the message names, else with those that its session
    /// names, else with its own. If the name is not known any more, the agent answers as it is, and the name comes back.
    pub(super) async fn answering(
        &self,
        agent: Arc<RunningAgent>,
        inbound: &Inbound,
        defaults: Option<&TurnDefaults>,
    ) -> (Arc<RunningAgent>, Option<String>) {
        let of_session = || defaults.and_then(|defaults| defaults.model.clone());
        // The program's own answer asks no model.
        let asks = !matches!(inbound.handling, Handling::Program { .. });
        let Some(name) = inbound.wishes.model.clone().or_else(of_session).filter(|_| asks) else {
            return (agent, None);
        };
        // A message's own model was checked when it was accepted; a session's may be gone since it was chosen.
        let is_there = inbound.wishes.model.is_some() || self.check_model(&name).await.is_ok();
        let chosen = is_there.then(|| self.current().choosing(&agent, &name, &self.services)).flatten();
        match chosen {
            Some(chosen) => (chosen, None),
            None => (agent, Some(name)),
        }
    }

    /// Checks that there is a model of this name to choose.
    pub(super) async fn check_model(&self, name: &str) -> Result<()> {
        let agents = self.current();
        agents.directory().ok_or_else(|| no_such_model(name))?.check(name).await
    }

    /// Returns the changes of the model's instructions to report to the owner.
    pub(super) async fn news(&self) -> Option<String> {
        let changes = self.services.changes.clone()?;
        self.reads.run(move || changes.news()).await.flatten()
    }

    /// Has the main agent answer with other models from the next turn on. Windows that were cached for the earlier ones do
    /// not fit them.
    pub(super) fn set_models(&self, models: AgentModels, facts: Vec<(ModelKey, ModelFact)>) {
        let memory = self.services.learned.memory.clone();
        let services = Services { learned: Learned { facts, memory }, ..Services::clone(&self.services) };
        let agents = self.current().with_models(models, &services, &self.options);
        services.board.introduce(agents.profiles());
        self.agents.set(agents);
    }
}
