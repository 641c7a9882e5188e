//! `[model]`: which model answers, where it is, and how it is asked.

use std::fmt;

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Who serves the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// OpenAI, or any server that speaks its dialect.
    #[default]
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Ollama, local models.
    Ollama,
    /// Amazon Bedrock.
    Bedrock,
    /// Google Gemini.
    Gemini,
    /// A LiteLLM proxy.
    LiteLlm,
    /// Mistral.
    Mistral,
    /// A scripted model for tests and demonstrations.
    Fake,
    /// Repeats what it was told.
    Echo,
}

impl Provider {
    /// Its name in the configuration, its usual model, and the environment variable that usually holds its key.
    ///
    /// The model is what a newcomer would pick today: the current general-purpose one, not the largest. Bedrock's is
    /// an inference profile that works from every region; its keys come from the AWS chain.
    const fn facts(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::OpenAi => ("openai", "gpt-5", Some("OPENAI_API_KEY")),
            Self::Anthropic => ("anthropic", "claude-sonnet-4-5", Some("ANTHROPIC_API_KEY")),
            Self::Ollama => ("ollama", "llama3.2", None),
            Self::Bedrock => ("bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", None),
            Self::Gemini => ("gemini", "gemini-2.5-flash", Some("GEMINI_API_KEY")),
            Self::LiteLlm => ("litellm", "gpt-5", Some("LITELLM_API_KEY")),
            Self::Mistral => ("mistral", "mistral-large-latest", Some("MISTRAL_API_KEY")),
            Self::Fake => ("fake", "fake", None),
            Self::Echo => ("echo", "echo", None),
        }
    }

    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The model used while `model.model_id` is empty.
    pub const fn default_model(self) -> &'static str {
        self.facts().1
    }

    /// The environment variable in which its users usually keep the key, where there is one.
    pub const fn key_variable(self) -> Option<&'static str> {
        self.facts().2
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The form of OpenAI's interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat completions, which every compatible server speaks.
    #[default]
    Chat,
    /// The responses interface.
    Responses,
}

/// The revision of Anthropic's interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The current one; the key goes as a bearer token.
    #[default]
    #[serde(rename = "2026-10-21")]
    V20261021,
    /// The older one; the key goes as `x-api-key`.
    #[serde(rename = "2023-06-01")]
    V20230601,
}

/// Which model answers. The same keys describe a fallback.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Model {
    /// Who serves the model.
    pub provider: Provider,
    /// The model's name at the provider. Empty: the provider's usual one.
    // Read as empty when absent, and not as the default of the default provider: the loader fills it in afterwards.
    #[serde(default)]
    pub model_id: String,
    /// The key. Empty: the provider's usual environment variable, such as `OPENAI_API_KEY`.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
    /// The base address, as the provider's own SDK takes it. Empty: the provider's own.
    pub host: String,
    /// Permits plain http to an address that is not loopback. Keys and conversations travel unencrypted.
    pub allow_http: bool,
    /// The form of OpenAI's interface.
    pub api: Api,
    /// The revision of Anthropic's interface.
    pub api_version: ApiVersion,
    /// The longest reply, in tokens. Unset: the provider decides.
    pub max_tokens: Option<u32>,
    /// Sampling temperature. Unset: not sent.
    pub temperature: Option<f64>,
    /// Nucleus sampling. Unset: not sent.
    pub top_p: Option<f64>,
    /// The region, for Bedrock.
    pub region: Option<String>,
    /// What the model can take in, in tokens. Unset: what is known of the model.
    pub context_window: Option<u32>,
    /// Seconds to wait for the next byte.
    pub timeout_seconds: u64,
    /// How often a request that failed before any output is tried again.
    pub max_retries: u32,
    /// Tried in order when the model fails: a model id of the same provider and host, or a table with the keys of
    /// `[model]`.
    pub fallbacks: Vec<Fallback>,
    /// Passed into the request body as it is.
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// The key found in the provider's usual environment variable.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) environment_key: Secret,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            provider: Provider::default(),
            model_id: Provider::default().default_model().to_owned(),
            api_key: Secret::default(),
            host: String::new(),
            allow_http: false,
            api: Api::default(),
            api_version: ApiVersion::default(),
            max_tokens: None,
            temperature: None,
            top_p: None,
            region: None,
            context_window: None,
            timeout_seconds: 120,
            max_retries: 4,
            fallbacks: Vec::new(),
            extra: serde_json::Map::new(),
            environment_key: Secret::default(),
        }
    }
}

impl Model {
    /// The key to use: `api_key`, else what the provider's usual environment variable held when the configuration was
    /// loaded. May be empty; the service then starts and says what to set.
    pub fn key(&self) -> &Secret {
        if self.api_key.is_empty() { &self.environment_key } else { &self.api_key }
    }

    /// This model and its fallbacks, in the order in which they are tried, each complete in itself.
    pub fn candidates(&self) -> Vec<Model> {
        let alone = Model { fallbacks: Vec::new(), ..self.clone() };
        let others = self.fallbacks.iter().map(|fallback| match fallback {
            Fallback::ModelId(model_id) => Model { model_id: model_id.clone(), ..alone.clone() },
            Fallback::Model(model) => (**model).clone(),
        });
        std::iter::once(alone.clone()).chain(others).collect()
    }

    /// Fills in what depends on the provider: the model id, and the key from `environment`.
    pub(crate) fn complete(&mut self, environment: &dyn Fn(&str) -> Option<String>) {
        if self.model_id.trim().is_empty() {
            self.provider.default_model().clone_into(&mut self.model_id);
        }
        if let Some(key) = self.provider.key_variable().and_then(environment) {
            self.environment_key = Secret::new(key);
        }
        for fallback in &mut self.fallbacks {
            if let Fallback::Model(model) = fallback {
                model.complete(environment);
            }
        }
    }
}

/// A model to try when the first one fails.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Fallback {
    /// Another model of the same provider and host.
    ModelId(String),
    /// A model of its own; what it does not set has the default of `[model]`.
    Model(Box<Model>),
}

impl<'de> Deserialize<'de> for Fallback {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FallbackVisitor)
    }
}

/// Reads by hand what `untagged` would read, which loses the place of an error and the unknown keys.
struct FallbackVisitor;

impl<'de> Visitor<'de> for FallbackVisitor {
    type Value = Fallback;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model id or a table with the keys of [model]")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Fallback, E> {
        Ok(Fallback::ModelId(value.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fallback, A::Error> {
        Model::deserialize(MapAccessDeserializer::new(map)).map(|model| Fallback::Model(Box::new(model)))
    }
}
