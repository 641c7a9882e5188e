//! The engine's knowledge about a model, gathered in use and kept across restarts: how many real tokens one estimated
//! token corresponds to, and how much the model has accepted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::learned::{ModelFact, ModelKey, ModelMemory};
use aethon_core::model::Capabilities;

use crate::services::Learned;
use crate::tasks::Tasks;
use crate::window::TokenCounter;
use aethon_core::storage_log::log_storage;

/// A ratio that differs by less than this from the stored one is not worth a write.
const NOTABLE: f64 = 0.05;

/// The knowledge about an agent's model.
pub(super) struct ModelKnowledge {
    memory: Arc<dyn ModelMemory>,
    state: Mutex<Known>,
}

struct Known {
    /// How many real tokens one estimated token corresponds to with this provider, over all sessions.
    ratio: Option<f64>,
    /// The ratio that is stored.
    kept_ratio: Option<f64>,
    kept_window: u64,
}

impl ModelKnowledge {
    /// Loads the stored knowledge about this model.
    pub(super) fn new(learned: &Learned, model: &Capabilities) -> Self {
        let key = ModelKey::of(model);
        let ratio = learned.facts.iter().find_map(|(model, fact)| match fact {
            ModelFact::TokenRatio(ratio) if *model == key => Some(*ratio),
            _ => None,
        });
        let state = Known { ratio, kept_ratio: ratio, kept_window: model.context_window };
        Self { memory: learned.memory.clone(), state: Mutex::new(state) }
    }

    /// Learns from a count by the provider.
    pub(super) fn learn_ratio(&self, ratio: f64) {
        let mut state = self.lock();
        state.ratio = Some(state.ratio.map_or(ratio, |known| (known + ratio) / 2.0));
    }

    /// Creates a counter for a new window.
    pub(super) fn counter(&self) -> TokenCounter {
        TokenCounter::calibrated(self.lock().ratio)
    }

    /// Stores the changed knowledge, in the background.
    pub(super) fn keep(&self, model: &Capabilities, tasks: &Tasks) {
        let news = self.news(model);
        if news.is_empty() {
            return;
        }
        let (memory, key) = (self.memory.clone(), ModelKey::of(model));
        tasks.spawn(async move {
            for fact in news {
                if let Err(error) = memory.remember(&key, fact).await {
                    log_storage("facts learnt about a model could not be stored", &error);
                }
            }
        });
    }

    /// Returns the facts that have changed enough to be stored again.
    fn news(&self, model: &Capabilities) -> Vec<ModelFact> {
        let mut state = self.lock();
        let mut news = Vec::new();
        if model.context_window != state.kept_window {
            state.kept_window = model.context_window;
            news.push(ModelFact::ContextWindow(model.context_window));
        }
        let is_notable = |known: Option<f64>, ratio: f64| {
            known.is_none_or(|known| ((ratio - known) / known).abs() > NOTABLE)
        };
        if let Some(ratio) = state.ratio.filter(|ratio| is_notable(state.kept_ratio, *ratio)) {
            state.kept_ratio = Some(ratio);
            news.push(ModelFact::TokenRatio(ratio));
        }
        news
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
