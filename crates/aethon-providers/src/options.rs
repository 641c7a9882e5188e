//! The settings of a provider: the small part of the configuration that concerns one model.
//!
//! The facade translates the configuration to this; nothing here knows files, layers or other sections.

use std::time::Duration;

use aethon_core::model::Effort;
use aethon_core::secret::Secret;
use serde_json::{Map, Value};

use crate::catalog::{Catalog, ModelFacts};
use crate::section;

pub use crate::aws::AwsEnvironment;
pub use aethon_core::provider::{AnthropicVersion, OpenAiApi, Provider};

/// What overrides the built-in catalogue.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Overrides {
    /// The catalogue, including the owner's own file.
    pub catalog: Catalog,
    /// The size of the context window in tokens.
    pub context_window: Option<u64>,
    /// The context window learnt in an earlier run. The owner's setting takes precedence.
    pub learned_window: Option<u64>,
    /// How many tools the service takes in one request.
    pub max_tools: Option<usize>,
}

/// What holds for every request to a service, whatever it asks.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Connection {
    /// Whether plain http may leave this machine.
    pub allow_http: bool,
    /// Headers added to every request, in the place of those of the same name.
    pub headers: Vec<(String, Secret)>,
    /// What was odd about the key as it was given, for the sentence about a key that is not accepted.
    pub key_remark: Option<String>,
    /// The longest wait for the next byte; by default, it depends on the model.
    pub timeout: Option<Duration>,
}

/// One model and how to reach it. Start with [`Options::new`] and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The provider.
    pub provider: Provider,
    /// The provider's id for it; not empty.
    pub model_id: String,
    /// The table of the configuration that describes it, whose keys a remedy names: `model`, `model.named.fast`, ...
    pub section: String,
    /// The key; may be empty.
    pub api_key: Secret,
    /// The base address as the provider's own SDK expects it; empty for the provider's own.
    pub host: String,
    /// What holds for every request to the service.
    pub connection: Connection,
    /// The AWS environment, for Bedrock.
    pub aws: AwsEnvironment,
    /// Which of OpenAI's APIs to use.
    pub api: OpenAiApi,
    /// The version of Anthropic's API.
    pub api_version: AnthropicVersion,
    /// The longest response in tokens.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// How much a reasoning model should think, unless the request says so.
    pub effort: Option<Effort>,
    /// What overrides the catalogue.
    pub overrides: Overrides,
    /// What requests carry besides the conversation and its settings.
    pub extras: RequestExtras,
}

/// What requests carry besides the conversation and its settings.
#[derive(Debug, Clone, Default)]
pub struct RequestExtras {
    /// Whether the provider may search the web while the model answers.
    pub web_search: bool,
    /// The service tier; empty for the provider's own choice.
    pub service_tier: String,
    /// Merged into the request body.
    pub body: Map<String, Value>,
}

impl From<Map<String, Value>> for RequestExtras {
    fn from(body: Map<String, Value>) -> Self {
        Self { body, ..Self::default() }
    }
}

impl Options {
    /// Applies a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the known or assumed facts about the model.
    pub fn facts(&self) -> ModelFacts {
        self.overrides.catalog.facts(self.provider, &self.model_id, &self.host)
    }

    /// Returns the context window that the owner set: `context_window`, or Ollama's own name for it in the additional
    /// fields.
    pub(crate) fn owner_window(&self) -> Option<u64> {
        let additional = || self.extras.body.get("options")?.get("num_ctx")?.as_u64();
        let is_ollama = self.provider == Provider::Ollama;
        // The additional fields stand above all others in a request.
        additional().filter(|_| is_ollama).or(self.overrides.context_window)
    }

    /// Creates options for a model, with nothing else set.
    pub fn new(provider: Provider, model_id: impl Into<String>) -> Self {
        Self {
            provider,
            model_id: model_id.into(),
            section: section::MODEL.to_owned(),
            api_key: Secret::default(),
            host: String::new(),
            connection: Connection::default(),
            aws: AwsEnvironment::default(),
            api: OpenAiApi::default(),
            api_version: AnthropicVersion::default(),
            max_tokens: None,
            temperature: None,
            top_p: None,
            effort: None,
            overrides: Overrides::default(),
            extras: RequestExtras::default(),
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
        options.connection.headers.push(("Authorization".into(), Secret::new("hunter2")));
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
