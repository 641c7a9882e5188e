//! What an engine is made of.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::ledger::{Ledger, Price};
use aethon_core::model::ModelProvider;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::tool::Toolbox;

use crate::hooks::Hooks;
use crate::outbox::Bell;
use crate::prompt::Prompt;

/// What a model of a provider costs, where that is known.
pub type Prices = Arc<dyn Fn(&str, &str) -> Option<Price> + Send + Sync>;

/// The parts of an engine.
#[derive(Clone)]
pub struct Parts {
    /// Where turns are stored.
    pub log: Arc<dyn TurnLog>,
    /// The same storage, for what is no turn.
    pub transcripts: Arc<dyn Transcripts>,
    /// Where every call is written down, and money set aside for it.
    pub ledger: Arc<dyn Ledger>,
    /// What the calls cost, by provider and model.
    pub prices: Prices,
    /// The model.
    pub provider: Arc<dyn ModelProvider>,
    /// The tools, behind every guard: a [`crate::GuardedToolbox`].
    pub toolbox: Arc<dyn Toolbox>,
    /// The concerns that see every turn, in their order; the same ones as the toolbox has.
    pub hooks: Hooks,
    /// The system prompt.
    pub prompt: Arc<Prompt>,
    /// Where it is told what happens.
    pub bus: EventBus,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Wakes the delivery worker when a reply is to go elsewhere.
    pub bell: Bell,
}
