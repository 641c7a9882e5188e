//! What the assistant can do right now, for the person who runs it: one row a feature, read from what really runs.
//!
//! A part of the program says how it stands through a [`FeatureSource`]; the facade puts the sources on one board, and the
//! HTTP application and `doctor` read it. Nothing is remembered here: every reading asks the sources again.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

/// How a feature stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// A stable word, such as `memory`.
    pub id: String,
    /// Its name for a person.
    pub title: String,
    /// Whether it works.
    pub state: FeatureState,
    /// What there is to know about it, a sentence.
    pub detail: String,
    /// The key that governs it.
    pub config_key: String,
}

/// Whether a feature works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureState {
    /// It runs.
    On,
    /// The owner has not switched it on.
    Off,
    /// It is configured, and fails.
    Degraded,
    /// This build or this machine lacks what it takes.
    Unavailable,
}

impl FeatureState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Degraded => "degraded",
            Self::Unavailable => "unavailable",
        }
    }

    /// On or off.
    pub fn of_switch(is_on: bool) -> Self {
        if is_on { Self::On } else { Self::Off }
    }
}

impl Feature {
    /// A feature that runs. `key` is the one that governs it.
    pub fn on(id: &str, title: &str, detail: impl Into<String>, key: &str) -> Self {
        Self::new((id, title), FeatureState::On, detail, key)
    }

    /// A feature in this state, known by an id and a title.
    pub fn new((id, title): (&str, &str), state: FeatureState, detail: impl Into<String>, key: &str) -> Self {
        let (id, title, config_key) = (id.to_owned(), title.to_owned(), key.to_owned());
        Self { id, title, state, detail: detail.into(), config_key }
    }

    /// In another state, with another detail.
    #[must_use]
    pub fn but(self, state: FeatureState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), ..self }
    }
}

/// A part of the program that says how it stands. Cheap, and asks nobody.
pub trait FeatureSource: Send + Sync {
    /// Its features as they are now.
    fn features(&self) -> Vec<Feature>;
}

impl<F: Fn() -> Vec<Feature> + Send + Sync> FeatureSource for F {
    fn features(&self) -> Vec<Feature> {
        self()
    }
}

/// The board on which every part says how it stands. Cheap to clone; clones are the same board.
#[derive(Clone, Default)]
pub struct Features(Arc<Mutex<Vec<Arc<dyn FeatureSource>>>>);

impl Features {
    /// Adds a source. A feature that an earlier source has told already is replaced, and keeps its place.
    pub fn offer(&self, source: impl FeatureSource + 'static) {
        self.sources().push(Arc::new(source));
    }

    /// Every feature as it is now.
    pub fn now(&self) -> Vec<Feature> {
        // Asked without the lock: a source may take locks of its own.
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
    fn a_later_word_on_a_feature_replaces_the_earlier_one_in_its_place() {
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
