//! The abilities that the assistant currently has, for its owner: one row per feature, read from the running parts.
//!
//! A part of the program reports its features through a [`FeatureSource`]; the facade collects the sources on one
//! board, which the HTTP application and `doctor` read. Nothing is cached: every read asks the sources again.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::words::words;

/// The status of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Feature {
    /// A stable word, such as `memory`.
    pub id: String,
    /// Its name for a person.
    pub title: String,
    /// Whether it works.
    pub state: FeatureState,
    /// Details, as a sentence.
    pub detail: String,
    /// The configuration key that controls it.
    pub config_key: String,
}

words! {
    /// Whether a feature works.
    pub enum FeatureState {
        /// It runs.
        On = "on",
        /// The owner has not switched it on.
        Off = "off",
        /// It is configured but failing.
        Degraded = "degraded",
        /// This build or this machine cannot support it.
        Unavailable = "unavailable",
    }
}

impl FeatureState {
    /// Maps a switch to on or off.
    pub fn of_switch(is_on: bool) -> Self {
        if is_on { Self::On } else { Self::Off }
    }
}

impl Feature {
    /// A feature that is on. `key` is the configuration key that controls it.
    pub fn on(id: &str, title: &str, detail: impl Into<String>, key: &str) -> Self {
        Self::new((id, title), FeatureState::On, detail, key)
    }

    /// A feature in this state, with an id and a title.
    pub fn new((id, title): (&str, &str), state: FeatureState, detail: impl Into<String>, key: &str) -> Self {
        let (id, title, config_key) = (id.to_owned(), title.to_owned(), key.to_owned());
        Self { id, title, state, detail: detail.into(), config_key }
    }

    /// Replaces the state and the detail.
    #[must_use]
    pub fn but(self, state: FeatureState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), ..self }
    }
}

/// A part of the program that reports its features. Must be cheap, without I/O.
pub trait FeatureSource: Send + Sync {
    /// Returns its current features.
    fn features(&self) -> Vec<Feature>;
}

impl<F: Fn() -> Vec<Feature> + Send + Sync> FeatureSource for F {
    fn features(&self) -> Vec<Feature> {
        self()
    }
}

/// The board on which every part reports its features. Cheap to clone; clones share the board.
#[derive(Clone, Default)]
pub struct Features(Arc<Mutex<Vec<Arc<dyn FeatureSource>>>>);

impl Features {
    /// Adds a source. It replaces features that an earlier source has reported, in their place.
    pub fn offer(&self, source: impl FeatureSource + 'static) {
        self.sources().push(Arc::new(source));
    }

    /// Returns the current state of every feature.
    pub fn now(&self) -> Vec<Feature> {
        // Asked without holding the lock: a source may take locks of its own.
        let sources = self.sources().clone();
        let mut features: Vec<Feature> = Vec::new();
        for feature in sources.iter().flat_map(|source| source.features()) {
            match features.iter_mut().find(|known| known.id == feature.id) {
                Some(known) => *known = feature,
                None => features.push(feature),
            }
        }
        features
    }

    fn sources(&self) -> std::sync::MutexGuard<'_, Vec<Arc<dyn FeatureSource>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_state_of_a_feature_replaces_the_earlier_one() {
        let features = Features::default();
        let row = |id: &str, state, detail: &str| Feature::new((id, "T"), state, detail, "k");
        features.offer(move || {
            vec![row("a", FeatureState::On, "configured"), row("b", FeatureState::Off, "not wanted")]
        });
        features
            .offer(move || vec![row("a", FeatureState::Degraded, "fails"), row("c", FeatureState::On, "")]);
        let told: Vec<(String, &str)> =
            features.now().into_iter().map(|feature| (feature.id, feature.state.as_str())).collect();
        assert_eq!(told, [("a".into(), "degraded"), ("b".into(), "off"), ("c".into(), "on")]);
        let json = serde_json::to_value(&features.now()[0]).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"id": "a", "title": "T", "state": "degraded", "detail": "fails", "config_key": "k"})
        );
    }
}
