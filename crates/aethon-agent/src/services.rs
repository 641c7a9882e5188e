//! What all agents of an engine share.

use std::sync::Arc;

use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::audit::NoAudit;
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::hook::Review;
use aethon_core::learned::{ModelFact, ModelKey, ModelMemory, NoMemory};
use aethon_core::live::Live;
use aethon_core::owner::Owners;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::storage::StorageHealth;

use crate::hooks::Hooks;
use crate::meter::Meter;
use crate::outbox::DeliveryWake;
use crate::toolbox::Audit;

/// What all agents of an engine share: where turns are stored, what pays for them, and what guards them. Begin with
/// [`Services::new`] and set what differs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Services {
    /// Where turns are stored.
    pub log: Arc<dyn TurnLog>,
    /// The same storage, which tells whose turns are whose.
    pub owners: Arc<dyn Owners>,
    /// The same storage, for what is no turn.
    pub transcripts: Arc<dyn Transcripts>,
    /// Whether the storage takes what it is given; while it does not, nothing new is taken in.
    pub health: StorageHealth,
    /// What every call is paid from, and booked by.
    pub meter: Meter,
    /// What was learnt about models before, and where more of it is kept.
    pub learned: Learned,
    /// The concerns that see every turn, in their order.
    pub hooks: Hooks,
    /// What each agent does now.
    pub board: AgentBoard,
    /// Who looks at an answer before it counts, if somebody does.
    pub review: Option<Arc<dyn Review>>,
    /// The questions to a person that are open.
    pub approvals: PendingApprovals,
    /// Where it is written down what was allowed and what was refused.
    pub audit: Audit,
    /// Where it is told what happens.
    pub bus: EventBus,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Wakes the delivery worker when a reply is to go elsewhere.
    pub wake: DeliveryWake,
}

impl Services {
    /// These, with no hooks, nothing learnt, and a bus and questions of their own.
    pub fn new(
        log: Arc<dyn TurnLog>,
        owners: Arc<dyn Owners>,
        transcripts: Arc<dyn Transcripts>,
        meter: Meter,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            log,
            owners,
            transcripts,
            health: StorageHealth::default(),
            meter,
            learned: Learned::default(),
            hooks: Hooks::default(),
            review: None,
            board: AgentBoard::default(),
            approvals: PendingApprovals::default(),
            audit: Audit { log: Arc::new(NoAudit), redactor: Live::default() },
            bus: EventBus::default(),
            clock,
            wake: DeliveryWake::default(),
        }
    }
}

/// What was learnt about models.
#[derive(Clone)]
#[non_exhaustive]
pub struct Learned {
    /// What was known when the program started.
    pub facts: Vec<(ModelKey, ModelFact)>,
    /// Where it is kept.
    pub memory: Arc<dyn ModelMemory>,
}

impl Learned {
    /// These facts, and further ones kept there.
    pub fn new(facts: Vec<(ModelKey, ModelFact)>, memory: Arc<dyn ModelMemory>) -> Self {
        Self { facts, memory }
    }
}

impl Default for Learned {
    /// Nothing, and nothing is kept.
    fn default() -> Self {
        Self { facts: Vec::new(), memory: Arc::new(NoMemory) }
    }
}
