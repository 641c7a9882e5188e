//! The state that all turns of an engine share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aethon_core::error::Result;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{AgentName, SessionId};
use aethon_core::learned::{ModelFact, ModelKey};
use aethon_core::live::Live;
use aethon_core::message::{Handling, Inbound, Message};
use aethon_core::session::{TurnDefaults, no_such_model};

use super::agents::{Agents, RunningAgent};
use super::beside::{PeerTurns, Watchers};
use super::compaction::Ahead;
use super::large_reply_gate::LargeReplyGate;
use super::narrow_views::NarrowViews;
use super::team::Team;
use crate::agent::{Agent, AgentModels};
use crate::catch_panic::catch_panic;
use crate::dispatcher::{Job, SessionQueues};
use crate::options::Options;
use crate::services::{Learned, Services};
use crate::tasks::{BackgroundTask, Tasks};
use crate::window::ContextWindows;
use aethon_files::BoundedReads;

/// The state that all turns share, behind an [`Engine`](super::assistant::Engine).
pub(crate) struct Shared {
    agents: Live<Agents>,
    /// The source of the specialists, if there may be some.
    team: Option<Arc<dyn Team>>,
    /// Where pages and specialists are read again between requests.
    reads: BoundedReads,
    pub(super) services: Services,
    pub(super) options: Options,
    pub(super) queues: SessionQueues,
    pub(super) windows: ContextWindows,
    pub(super) tasks: Tasks,
    pub(super) ahead: Ahead,
    pub(super) narrow_views: NarrowViews,
    pub(super) reported_models: ReportedModels,
    pub(super) large_reply_gate: LargeReplyGate,
    /// The task that renews the lease and takes over from other programs.
    pub(super) watch: BackgroundTask,
    /// Who watches the turns that are taken over.
    pub(super) watchers: OnceLock<Arc<Watchers>>,
    pub(super) peer_turns: PeerTurns,
}

/// The unknown models that were already reported to a person, so that each is reported once.
#[derive(Default)]
pub(super) struct ReportedModels(Mutex<BTreeSet<String>>);

impl ReportedModels {
    pub(super) fn is_new(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned())
    }
}

impl Shared {
    pub(super) fn new((main, others): (Agent, Vec<Agent>), services: Services, options: Options) -> Self {
        let agents = Agents::new(main, others, &services, &options);
        services.board.introduce(agents.profiles());
        Self {
            agents: Live::new(agents),
            team: None,
            reads: BoundedReads::new("pages and specialists"),
            ahead: Ahead::new(options.cache.sessions),
            narrow_views: NarrowViews::new(options.cache.sessions),
            reported_models: ReportedModels::default(),
            watch: BackgroundTask::default(),
            watchers: OnceLock::new(),
            peer_turns: PeerTurns::default(),
            large_reply_gate: LargeReplyGate::default(),
            queues: SessionQueues::new(options.queues),
            windows: ContextWindows::new(options.cache.sessions, options.cache.bytes),
            tasks: Tasks::default(),
            services,
            options,
        }
    }

    /// Adds specialists, which the main agent calls by tools.
    pub(super) fn with_team(mut self, team: Arc<dyn Team>) -> Self {
        self.team = Some(team);
        self.agents();
        self
    }

    /// Returns the current agents. A caller that works with one keeps it to the end of the work.
    pub(super) fn agents(&self) -> Arc<Agents> {
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
        let agents = self.agents();
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
        let chosen = is_there.then(|| self.agents().choosing(&agent, &name, &self.services)).flatten();
        match chosen {
            Some(chosen) => (chosen, None),
            None => (agent, Some(name)),
        }
    }

    /// Checks that there is a model of this name to choose.
    pub(super) async fn check_model(&self, name: &str) -> Result<()> {
        let agents = self.agents();
        agents.directory().ok_or_else(|| no_such_model(name))?.check(name).await
    }

    /// Returns the changes of the model's instructions to report to the owner.
    pub(super) async fn news(&self) -> Option<String> {
        let changes = self.services.changes.clone()?;
        self.reads.run(move || changes.news()).await.flatten()
    }

    /// Has the main agent answer with other models from the next turn on.
    pub(super) fn set_models(&self, models: AgentModels, facts: Vec<(ModelKey, ModelFact)>) {
        let memory = self.services.learned.memory.clone();
        let services = Services { learned: Learned { facts, memory }, ..self.services.clone() };
        let agents = self.agents().with_models(models, &services, &self.options);
        services.board.introduce(agents.profiles());
        self.agents.set(agents);
        // The cached windows fit the sizes and the token counts of the earlier models.
        self.windows.forget_all();
    }

    /// Runs a turn, and all that wait behind it.
    pub(super) async fn run_queue(self: &Arc<Self>, first: Job) {
        let session = first.session().clone();
        let mut next = Some(first);
        while let Some(job) = next {
            // Turns catch their own faults; this catches the remaining ones, so that the session's other turns can
            // run. Boxed, because tasks are moved and a turn is large, while most incoming messages only wait for
            // their turn.
            next = match catch_panic(Box::pin(self.run(job))).await {
                Ok(None) => self.queues.next(&session),
                Ok(Some(job)) => self.yield_to_other_processes(job).await,
                Err(panic) => {
                    tracing::error!(%session, panic, "the end of a turn panicked");
                    self.queues.next(&session)
                }
            };
        }
    }

    /// Publishes that a session got a message.
    pub(super) fn publish_message(&self, session: &SessionId, message: &Arc<Message>) {
        self.services.bus.publish(|| Event::Message { session: session.clone(), message: message.clone() });
    }

    /// Publishes that a session changed.
    pub(super) fn publish_session(&self, session: &SessionId, change: SessionChange) {
        self.services.bus.publish(|| Event::Session { session: session.clone(), change });
    }
}
