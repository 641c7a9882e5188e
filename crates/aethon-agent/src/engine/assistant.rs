//! The engine's interface: the [`Assistant`] of the core, and how an engine starts and ends.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::{ActiveTurn, Assistant, Posting, Submitted};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::learned::{ModelFact, ModelKey};
use aethon_core::message::Inbound;
use aethon_core::session::{Clear, TurnRecord};
use aethon_core::surface::{SessionWatchers, Surface};
use aethon_core::tool::Toolbox;
use async_trait::async_trait;
use tokio::time::timeout;

use super::delegation::Delegation;
use super::fit::look_at_models;
use super::leases::Watchers;
use super::session_ops;
use super::shared::Shared;
use super::submit::submit;
use crate::agent::{Agent, AgentModels};
use crate::control::Cause;
use crate::options::Options;
use crate::roster::SpecialistSource;
use crate::services::Services;
use aethon_core::storage_log::log_storage;

/// How long stopped turns may take to store their output when the program ends. With the default grace of eight
/// seconds the program ends within the ten that supervisors wait before they kill it, even if the storage is broken.
const STORE_GRACE: Duration = Duration::from_millis(1500);

/// The assistant. Cheap to clone; clones are the same engine. It runs on the tokio runtime that calls it.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

impl Engine {
    /// Creates an engine with one agent. Call [`Self::recover`] before anything is submitted.
    pub fn new(main: Agent, services: Services, options: Options) -> Self {
        Self::with_agents(main, Vec::new(), services, options)
    }

    /// Creates an engine with several agents, which share the services. Messages that name no agent go to the main
    /// one.
    pub fn with_agents(main: Agent, others: Vec<Agent>, services: Services, options: Options) -> Self {
        Self(Arc::new(Shared::new((main, others), None, services, options))).with_measured_caches()
    }

    /// Creates an engine whose main agent calls the current specialists of this source by tools of their names.
    pub fn with_specialists(
        main: Agent,
        specialists: Arc<dyn SpecialistSource>,
        services: Services,
        options: Options,
    ) -> Self {
        Self(Arc::new_cyclic(|shared| {
            let delegation = Delegation::new(specialists, shared.clone());
            let mut tools = main.tools.clone();
            tools.push(delegation.tool_source());
            let agents = (main.with_tools(tools), Vec::new());
            Shared::new(agents, Some(Arc::new(delegation)), services, options)
        }))
        .with_measured_caches()
    }

    /// Reports the size of the engine's caches in `/metrics`.
    fn with_measured_caches(self) -> Self {
        let caches = self.0.services.bus.telemetry().caches();
        let shared = Arc::downgrade(&self.0);
        caches.add("context_windows", move || shared.upgrade().map(|shared| shared.windows.bytes()));
        let shared = Arc::downgrade(&self.0);
        caches.add("summaries_ahead", move || shared.upgrade().map(|shared| shared.caches.ahead.bytes()));
        self
    }

    /// Recovers the turns that an earlier process left: resumes those that have their sender's own id, and closes
    /// the others as interrupted. `surface` returns the watcher of a resumed turn. Returns the number of resumed
    /// turns. From then on the engine [watches](Self::watch), even if this fails.
    pub async fn recover(
        &self,
        surface: impl Fn(&TurnRecord) -> Arc<dyn Surface> + Send + Sync + 'static,
    ) -> Result<usize> {
        let surface: Arc<Watchers> = Arc::new(surface);
        let going_on = self.0.recover(&*surface).await;
        self.0.watch(surface);
        going_on
    }

    /// Announces to other programs on the same storage that this one is alive, and recovers the turns of dead ones,
    /// as [`Self::recover`] does, until [`Self::shutdown`].
    pub fn watch(&self, surface: impl Fn(&TurnRecord) -> Arc<dyn Surface> + Send + Sync + 'static) {
        self.0.watch(Arc::new(surface));
    }

    /// Notifies these watchers, until [`Self::shutdown`], of the ends of turns that other programs run on the same
    /// storage.
    pub fn tell(&self, onlookers: Arc<dyn SessionWatchers>) {
        self.0.peer_turns.start(onlookers);
    }

    /// Has the main agent answer with other models from the next turn on; running turns keep the models that they
    /// began with. `facts` is the knowledge about the new models.
    pub fn set_models(&self, models: AgentModels, facts: Vec<(ModelKey, ModelFact)>) {
        self.0.agents.set_models(models, facts);
        // The cached windows fit the sizes and the token counts of the earlier models.
        self.0.windows.forget_all();
    }

    /// Forgets what is kept of a session in this process: another one has emptied or removed it.
    pub fn forget(&self, session: &SessionId) {
        self.0.caches.ahead.cancel(session);
        self.0.windows.forget(session);
        self.0.services.open_approvals.pending.grants().forget(session);
    }

    /// Asks in the background for the limits of the models that are asked before a first request anyway, so that the first
    /// turn does not wait for that and the log says it at once.
    pub fn look_at_models(&self) {
        let shared = self.0.clone();
        self.0.tasks.spawn(async move { look_at_models(&shared).await });
    }

    /// Returns the tools of the main agent behind every guard, for calls that no model makes.
    pub fn toolbox(&self) -> Arc<dyn Toolbox> {
        self.0.agents.current().toolbox()
    }

    /// Accepts no more messages, lets running turns finish for `grace`, then stops them; their output is stored.
    /// Waiting turns stay stored, and the next start recovers them.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.queues.end();
        // No caller waits for these, and nothing is lost with them.
        self.0.caches.ahead.end();
        if timeout(grace, self.0.tasks.ended()).await.is_err() {
            self.0.queues.stop_all(Cause::Shutdown);
            if timeout(STORE_GRACE, self.0.tasks.ended()).await.is_err() {
                tracing::error!(
                    "some turns could not be stored before the end; they are looked after at the next start"
                );
            }
        }
        self.0.watch.end().await;
        self.0.peer_turns.end().await;
        match timeout(STORE_GRACE, self.0.services.owners.release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log_storage("other programs wait for the end of this one's lease", &error),
            Err(_) => tracing::warn!("other programs wait for the end of this one's lease"),
        }
    }
}

#[async_trait]
impl Assistant for Engine {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        submit(&self.0, inbound, surface).await
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        let (stopped, waiting) = self.0.queues.stop(session, turn, Cause::Person);
        if let Some(job) = waiting {
            self.0.ends.end_unbegun(job).await;
        }
        stopped
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.0.queues.activity()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.0.queues.is_busy(session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        session_ops::clear(&self.0, session, how).await
    }

    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        session_ops::post(&self.0, session, key, posting).await
    }
}
