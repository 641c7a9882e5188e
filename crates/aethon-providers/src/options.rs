//! What a provider must be told: the small part of the configuration that concerns one model.
//!
//! The facade translates the configuration into this; nothing here knows files, layers or the other sections.

use std::time::Duration;

use aethon_core::ledger::Price;
use aethon_core::secret::Secret;
use serde_json::{Map, Value};

pub use crate::aws::AwsEnvironment;

/// Who serves the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI, or any server that speaks its dialect.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Ollama.
    Ollama,
    /// Amazon Bedrock.
    Bedrock,
    /// Google Gemini.
    Gemini,
    /// A LiteLLM proxy.
    LiteLlm,
    /// Mistral.
    Mistral,
    /// The scripted model.
    Fake,
    /// The model that repeats.
    Echo,
}

impl Provider {
    /// Every provider, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Ollama,
        Self::Bedrock,
        Self::Gemini,
        Self::LiteLlm,
        Self::Mistral,
        Self::Fake,
        Self::Echo,
    ];

    /// The word for it in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
            Self::Bedrock => "bedrock",
            Self::Gemini => "gemini",
            Self::LiteLlm => "litellm",
            Self::Mistral => "mistral",
            Self::Fake => "fake",
            Self::Echo => "echo",
        }
    }

    /// The provider of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Its name as people write it, for sentences.
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
            Self::Ollama => "Ollama",
            Self::Bedrock => "Amazon Bedrock",
            Self::Gemini => "Gemini",
            Self::LiteLlm => "LiteLLM",
            Self::Mistral => "Mistral",
            Self::Fake => "the scripted model",
            Self::Echo => "the echo model",
        }
    }
}

/// Which of OpenAI's two interfaces is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenAiApi {
    /// Chat completions, which every compatible server speaks.
    #[default]
    Chat,
    /// Responses.
    Responses,
}

/// The revision of Anthropic's interface, which decides how the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnthropicVersion {
    /// `2026-10-21`, the key as a bearer token.
    #[default]
    V2026,
    /// `2023-06-01`, the key as `x-api-key`.
    V2023,
}

/// What the built-in table is wrong about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides {
    /// The size of the context window in tokens.
    pub context_window: Option<u64>,
    /// What the model costs.
    pub price: Option<Price>,
}

/// One model and how to reach it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who serves it.
    pub provider: Provider,
    /// Its id at the provider; not empty.
    pub model_id: String,
    /// The key; may be empty.
    pub api_key: Secret,
    /// The environment variable that usually holds the key, for the sentence that asks for it; may be empty.
    pub key_variable: String,
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
    /// What the owner knows better than the built-in table.
    pub overrides: Overrides,
    /// The longest wait for the next byte.
    pub timeout: Duration,
    /// Merged into the request body.
    pub extra: Map<String, Value>,
}

impl Options {
    /// A model with nothing else set.
    pub fn new(provider: Provider, model_id: impl Into<String>) -> Self {
        Self {
            provider,
            model_id: model_id.into(),
            api_key: Secret::default(),
            key_variable: String::new(),
            host: String::new(),
            allow_http: false,
            aws: AwsEnvironment::default(),
            api: OpenAiApi::default(),
            api_version: AnthropicVersion::default(),
            max_tokens: None,
            temperature: None,
            top_p: None,
            overrides: Overrides::default(),
            timeout: Duration::from_secs(120),
            extra: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_is_found_by_its_name() {
        for provider in Provider::ALL {
            assert_eq!(Provider::from_name(provider.name()), Some(provider));
        }
        assert_eq!(Provider::from_name("OpenAI"), None);
    }

    #[test]
    fn printing_options_shows_no_key() {
        let mut options = Options::new(Provider::OpenAi, "gpt-5");
        options.api_key = Secret::new("hunter2");
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
