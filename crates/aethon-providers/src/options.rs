//! What a provider must be told: the small part of the configuration that concerns one model.
//!
//! The facade translates the configuration into this; nothing here knows files, layers or the other sections.

use std::time::Duration;

use aethon_core::model::Effort;
use aethon_core::secret::Secret;
use serde_json::{Map, Value};

use crate::catalog::{Catalog, ModelFacts};

pub use crate::aws::AwsEnvironment;
pub use aethon_core::provider::{AnthropicVersion, OpenAiApi, Provider};

/// What stands above the built-in catalogue.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Overrides {
    /// The catalogue with the models of the owner's own file.
    pub catalog: Catalog,
    /// The size of the context window in tokens.
    pub context_window: Option<u64>,
    /// The size that was learnt in an earlier run; what the owner has set stands above it.
    pub learned_window: Option<u64>,
}

/// One model and how to reach it. Begin with [`Options::new`] and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Who serves it.
    pub provider: Provider,
    /// Its id at the provider; not empty.
    pub model_id: String,
    /// The key; may be empty.
    pub api_key: Secret,
    /// The base address as the provider's own SDK takes it; empty for the provider's own.
    pub host: String,
    /// Whether plain http may leave this machine.
    pub allow_http: bool,
    /// What is known of AWS, for Bedrock.
    pub aws: AwsEnvironment,
    /// Which of OpenAI's interfaces is used.
    pub api: OpenAiApi,
    /// The revision of Anthropic's interface.
    pub api_version: AnthropicVersion,
    /// The longest answer in tokens.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// How much a model that reasons is to think, where the request does not say.
    pub effort: Option<Effort>,
    /// What the owner knows better than the catalogue.
    pub overrides: Overrides,
    /// The longest wait for the next byte; unset, it follows the model.
    pub timeout: Option<Duration>,
    /// Merged into the request body.
    pub extra: Map<String, Value>,
}

impl Options {
    /// With what this changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// What is known of the model, or assumed.
    pub fn facts(&self) -> ModelFacts {
        self.overrides.catalog.facts(self.provider, &self.model_id, &self.host)
    }

    /// A model with nothing else set.
    pub fn new(provider: Provider, model_id: impl Into<String>) -> Self {
        Self {
            provider,
            model_id: model_id.into(),
            api_key: Secret::default(),
            host: String::new(),
            allow_http: false,
            aws: AwsEnvironment::default(),
            api: OpenAiApi::default(),
            api_version: AnthropicVersion::default(),
            max_tokens: None,
            temperature: None,
            top_p: None,
            effort: None,
            overrides: Overrides::default(),
            timeout: None,
            extra: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_options_shows_no_key() {
        let mut options = Options::new(Provider::OpenAi, "gpt-5");
        options.api_key = Secret::new("hunter2");
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
