//! The models that may be chosen, as the configuration in force has them.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::live::Live;
use aethon_core::model_choice::{ModelChoices, OfferedModel};
use aethon_core::session::no_such_model;
use async_trait::async_trait;

/// The choice; the program holds on to it over reloads. Without one, nothing can be chosen.
#[derive(Clone, Default)]
pub(crate) struct LiveChoices(Live<Option<Arc<dyn ModelChoices>>>);

impl LiveChoices {
    /// Puts another choice in force.
    pub(crate) fn set(&self, choices: Option<Arc<dyn ModelChoices>>) {
        self.0.set(choices);
    }

    fn get(&self) -> Option<Arc<dyn ModelChoices>> {
        (*self.0.get()).clone()
    }
}

#[async_trait]
impl ModelChoices for LiveChoices {
    async fn offered(&self) -> Vec<OfferedModel> {
        match self.get() {
            Some(choices) => choices.offered().await,
            None => Vec::new(),
        }
    }

    fn current(&self) -> String {
        self.get().map(|choices| choices.current()).unwrap_or_default()
    }

    async fn check(&self, name: &str) -> Result<()> {
        match self.get() {
            Some(choices) => choices.check(name).await,
            None => Err(no_such_model(name)),
        }
    }
}
