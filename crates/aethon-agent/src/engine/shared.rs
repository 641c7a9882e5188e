//! The engine itself, to which [`Engine`](super::Engine) is a handle: what its turns share, and the queues of its sessions
//! as they run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use aethon_core::ids::{SessionId, TurnId};

use super::agent_pool::AgentPool;
use super::compaction::Ahead;
use super::ends::TurnEnds;
use super::large_reply_gate::LargeReplyGate;
use super::leases::{Leases, Watchers};
use super::narrow_views::NarrowViews;
use super::peer_turns::PeerTurns;
use super::recover::Recovery;
use super::team::Team;
use crate::agent::Agent;
use crate::catch_panic::catch_panic;
use crate::dispatcher::{Job, SessionQueues};
use crate::options::Options;
use crate::services::Services;
use crate::tasks::{BackgroundTask, Tasks};
use crate::window::ContextWindows;

/// The state that all turns share, behind an [`Engine`](super::assistant::Engine).
pub(crate) struct Shared {
    pub(super) services: Arc<Services>,
    pub(super) options: Arc<Options>,
    pub(super) agents: Arc<AgentPool>,
    pub(super) queues: SessionQueues,
    pub(super) windows: Arc<ContextWindows>,
    pub(super) tasks: Tasks,
    pub(super) ends: Arc<TurnEnds>,
    pub(super) recovery: Recovery,
    pub(super) caches: RequestCaches,
    pub(super) leases: Leases,
    /// The task that renews the lease and takes over from other programs.
    pub(super) watch: BackgroundTask,
    /// Who watches the turns that are taken over.
    pub(super) watchers: OnceLock<Arc<Watchers>>,
    pub(super) peer_turns: Arc<PeerTurns>,
    pub(super) begun: BegunTurns,
}

/// The turns that have begun here and not ended.
#[derive(Default)]
pub(super) struct BegunTurns(Mutex<BTreeSet<(SessionId, TurnId)>>);

/// One of them, as long as this lives.
pub(super) struct BegunTurn<'b> {
    all: &'b BegunTurns,
    key: (SessionId, TurnId),
}

impl BegunTurns {
    pub(super) fn enter(&self, session: &SessionId, turn: &TurnId) -> BegunTurn<'_> {
        let key = (session.clone(), turn.clone());
        self.lock().insert(key.clone());
        BegunTurn { all: self, key }
    }

    pub(super) fn list(&self) -> Vec<(SessionId, TurnId)> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(SessionId, TurnId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BegunTurn<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}

/// What requests and answers of all turns share.
pub(super) struct RequestCaches {
    pub(super) ahead: Ahead,
    pub(super) narrow_views: NarrowViews,
    pub(super) reported_models: ReportedModels,
    pub(super) large_reply_gate: LargeReplyGate,
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
    pub(super) fn new(
        agents: (Agent, Vec<Agent>),
        team: Option<Arc<dyn Team>>,
        services: Services,
        options: Options,
    ) -> Self {
        let (services, options) = (Arc::new(services), Arc::new(options));
        let agents = Arc::new(AgentPool::new(agents, team, services.clone(), options.clone()));
        let windows = Arc::new(ContextWindows::new(options.cache.sessions, options.cache.bytes));
        let ends = Arc::new(TurnEnds::new(services.clone(), options.clone(), agents.clone()));
        Self {
            recovery: Recovery::new(ends.clone(), windows.clone()),
            leases: Leases::new(services.clone()),
            peer_turns: Arc::new(PeerTurns::new(services.clone())),
            caches: RequestCaches {
                ahead: Ahead::new(options.cache.sessions),
                narrow_views: NarrowViews::new(options.cache.sessions),
                reported_models: ReportedModels::default(),
                large_reply_gate: LargeReplyGate::default(),
            },
            queues: SessionQueues::new(options.queues),
            tasks: Tasks::default(),
            watch: BackgroundTask::default(),
            begun: BegunTurns::default(),
            watchers: OnceLock::new(),
            windows,
            agents,
            ends,
            services,
            options,
        }
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
}
