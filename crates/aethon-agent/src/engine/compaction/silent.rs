//! The models that say nothing when they are asked for a summary.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aethon_core::learned::ModelKey;
use tokio::time::Instant;

use crate::models::Models;

/// How long a model may say nothing over a summary before it is given up; in the background, where no turn waits for
/// it, twice that.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// How long a model that said nothing is not asked for summaries.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// The models that said nothing over a summary, and when.
#[derive(Debug, Default)]
pub(super) struct SilentSummarisers(Mutex<HashMap<ModelKey, Instant>>);

impl SilentSummarisers {
    pub(super) fn is_silent(&self, models: &Models) -> bool {
        let silent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        silent.get(&key(models)).is_some_and(|since| since.elapsed() < REMEMBERED)
    }

    pub(super) fn note(&self, models: &Models) {
        let mut silent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        silent.retain(|_, since| since.elapsed() < REMEMBERED);
        silent.insert(key(models), Instant::now());
    }
}

fn key(models: &Models) -> ModelKey {
    ModelKey::of(&models.capabilities())
}
