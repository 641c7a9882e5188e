//! `[memory]`: what the assistant remembers across conversations.

use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Long-term memory. Full-text search needs nothing; vectors need `memory.embedding.provider`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// Whether there is a long-term memory.
    pub enabled: bool,
    /// Whether fitting memories are shown to the model without being asked for.
    pub auto_recall: bool,
    /// How many memories are recalled.
    pub recall_top_k: usize,
    /// How long recalled memories may be together, in characters.
    pub recall_max_chars: usize,
    /// What must not be remembered besides secrets, as regular expressions in either case, such as `\bACME-\d+\b`.
    pub guard_patterns: Vec<String>,
    /// Vectors for search by meaning.
    pub embedding: Embedding,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_recall: true,
            recall_top_k: 4,
            recall_max_chars: 1500,
            guard_patterns: Vec::new(),
            embedding: Embedding::default(),
        }
    }
}

/// Vectors for search by meaning.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Embedding {
    /// Who turns text into vectors. `none`: nobody, and memories are found by their words only.
    #[serde(with = "super::offers::embedding")]
    #[schemars(schema_with = "crate::json_schema::embedding_provider")]
    pub provider: Option<Provider>,
    /// The embedding model's name at the provider. Empty: the provider's usual one.
    pub model_id: String,
    /// The key. Empty: the provider's usual environment variable.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
    /// The base address. Empty: the provider's own.
    pub host: String,
    /// Permits plain http to an address that is not loopback.
    pub allow_http: bool,
    /// The length of a vector. Unset: the model's own.
    pub dimensions: Option<u32>,
    /// Seconds to wait for the next byte.
    pub timeout_seconds: u64,
    /// The key found in the provider's usual environment variable.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) environment_key: Secret,
}

impl Default for Embedding {
    fn default() -> Self {
        Self {
            provider: None,
            model_id: String::new(),
            api_key: Secret::default(),
            host: String::new(),
            allow_http: false,
            dimensions: None,
            timeout_seconds: 30,
            environment_key: Secret::default(),
        }
    }
}

impl Embedding {
    /// The key to use: `api_key`, else what the provider's usual environment variable held at load.
    pub fn key(&self) -> &Secret {
        if self.api_key.is_empty() { &self.environment_key } else { &self.api_key }
    }

    /// Takes the provider's usual key from `environment`.
    pub(crate) fn complete(&mut self, environment: &dyn Fn(&str) -> Option<String>) {
        if let Some(key) = self.provider.and_then(Provider::key_variable).and_then(environment) {
            self.environment_key = Secret::new(key);
        }
    }
}
