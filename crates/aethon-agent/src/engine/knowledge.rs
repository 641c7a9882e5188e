//! What the engine learns of its model while it uses it, and keeps across restarts: how many tokens the provider counts where
//! one is estimated, and how much the model turned out to take.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::learned::{ModelFact, ModelKey, ModelMemory};
use aethon_core::model::Capabilities;

use crate::services::Learned;
use crate::storage_log::log_storage;
use crate::tasks::Tasks;
use crate::window::TokenCounter;

/// A ratio that differs by less than this from the one that is kept is not worth a write.
const NOTABLE: f64 = 0.05;

/// What is known of an agent's model.
pub(super) struct ModelKnowledge {
    memory: Arc<dyn ModelMemory>,
    state: Mutex<Known>,
}

struct Known {
    /// What one estimated token really is with this provider, as far as all sessions together tell.
    ratio: Option<f64>,
    /// What the memory has.
    kept_ratio: Option<f64>,
    kept_window: u64,
}

impl ModelKnowledge {
    /// What the memory says of this model, at the start.
    pub(super) fn new(learned: &Learned, model: &Capabilities) -> Self {
        let key = ModelKey::of(model);
        let ratio = learned.facts.iter().find_map(|(model, fact)| match fact {
            ModelFact::TokenRatio(ratio) if *model == key => Some(*ratio),
            _ => None,
        });
        let state = Known { ratio, kept_ratio: ratio, kept_window: model.context_window };
        Self { memory: learned.memory.clone(), state: Mutex::new(state) }
    }

    /// A provider has counted.
    pub(super) fn learn_ratio(&self, ratio: f64) {
        let mut state = self.lock();
        state.ratio = Some(state.ratio.map_or(ratio, |known| (known + ratio) / 2.0));
    }

    /// A counter for a new window.
    pub(super) fn counter(&self) -> TokenCounter {
        TokenCounter::calibrated(self.lock().ratio)
    }

    /// Writes down what has changed, beside the turn.
    pub(super) fn keep(&self, model: &Capabilities, tasks: &Tasks) {
        let news = self.news(model);
        if news.is_empty() {
            return;
        }
        let (memory, key) = (self.memory.clone(), ModelKey::of(model));
        tasks.spawn(async move {
            for fact in news {
                if let Err(error) = memory.remember(&key, fact).await {
                    log_storage("what was learnt about a model could not be kept", &error);
                }
            }
        });
    }

    /// What has changed enough since it was kept.
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
