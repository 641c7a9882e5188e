//! The services that all agents of an engine share.

use std::sync::Arc;

use aethon_core::agents::AgentBoard;
use aethon_core::audit::NoAudit;
use aethon_core::clock::Clock;
use aethon_core::document::{DocumentReader, NoDocuments};
use aethon_core::event::{Event, EventBus, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::learned::{ModelFact, ModelKey, ModelMemory, NoMemory};
use aethon_core::message::Message;
use aethon_core::owner::Owners;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::storage::StorageHealth;

use crate::changes::Changes;
use crate::hooks::Hooks;
use crate::meter::Meter;
use crate::open_approvals::OpenApprovals;
use crate::outbox::DeliveryWake;
use crate::toolbox::Audit;

/// The services that all agents of an engine share: the storage of turns, the meter, and the guards. Start from
/// [`Services::new`] and change single fields.
#[derive(Clone)]
#[non_exhaustive]
pub struct Services {
    /// Where turns are stored.
    pub turns: Arc<dyn TurnLog>,
    /// The same storage, as the record of who owns which turns.
    pub owners: Arc<dyn Owners>,
    /// The same storage, for operations outside of turns.
    pub transcripts: Arc<dyn Transcripts>,
    /// Whether the storage accepts writes; while it does not, no new messages are accepted.
    pub health: StorageHealth,
    /// The meter that pays for every call and books it.
    pub meter: Meter,
    /// The stored knowledge about models, and where more is stored.
    pub learned: Learned,
    /// The concerns that apply to every turn, in order.
    pub hooks: Hooks,
    /// The current activity of each agent.
    pub board: AgentBoard,
    /// The report of changed instructions to the owner, if these are recorded.
    pub changes: Option<Arc<Changes>>,
    /// The open questions to a person.
    pub open_approvals: OpenApprovals,
    /// Where approvals and refusals are recorded.
    pub audit: Audit,
    /// Where events are published.
    pub bus: EventBus,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Turns documents that come with a message into text.
    pub documents: Arc<dyn DocumentReader>,
    /// Wakes the delivery worker when a reply must go elsewhere.
    pub wake: DeliveryWake,
}

impl Services {
    /// Combines these with no hooks, nothing learnt, and a new bus and new pending approvals.
    pub fn new(
        turns: Arc<dyn TurnLog>,
        owners: Arc<dyn Owners>,
        transcripts: Arc<dyn Transcripts>,
        meter: Meter,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            turns,
            owners,
            transcripts,
            health: StorageHealth::default(),
            meter,
            learned: Learned::default(),
            hooks: Hooks::default(),
            changes: None,
            board: AgentBoard::default(),
            open_approvals: OpenApprovals::default(),
            audit: Audit(Arc::new(NoAudit)),
            bus: EventBus::default(),
            clock,
            documents: Arc::new(NoDocuments::default()),
            wake: DeliveryWake::default(),
        }
    }

    /// Publishes that a session got a message.
    pub(crate) fn publish_message(&self, session: &SessionId, message: &Arc<Message>) {
        self.bus.publish(|| Event::Message { session: session.clone(), message: message.clone() });
    }

    /// Publishes that a session changed.
    pub(crate) fn publish_session(&self, session: &SessionId, change: SessionChange) {
        self.bus.publish(|| Event::Session { session: session.clone(), change });
    }
}

/// The stored knowledge about models.
#[derive(Clone)]
#[non_exhaustive]
pub struct Learned {
    /// The facts known when the program started.
    pub facts: Vec<(ModelKey, ModelFact)>,
    /// Where it is stored.
    pub memory: Arc<dyn ModelMemory>,
}

impl Learned {
    /// Creates the knowledge from these facts; `memory` stores further ones.
    pub fn new(facts: Vec<(ModelKey, ModelFact)>, memory: Arc<dyn ModelMemory>) -> Self {
        Self { facts, memory }
    }
}

impl Default for Learned {
    /// Knows nothing and stores nothing.
    fn default() -> Self {
        Self { facts: Vec::new(), memory: Arc::new(NoMemory) }
    }
}
