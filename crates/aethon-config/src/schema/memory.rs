//! `[memory]`: long-term memory across conversations.

use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Long-term memory. Full-text search needs no further settings; search by meaning needs `memory.embedding.provider`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// Whether there is a long-term memory.
    pub enabled: bool,
    /// Whether relevant memories are shown to the model automatically.
    pub auto_recall: bool,
    /// The maximum number of memories recalled automatically.
    pub recall_top_k: usize,
    /// The maximum length of all memories recalled together, in characters.
    pub recall_max_chars: usize,
    /// Case-insensitive regular expressions for text that must not be stored, such as `\bACME-\d+\b`. Secrets are never stored.
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
    /// The embedding provider. `none`: full-text search only.
    #[serde(with = "super::offers::embedding")]
    #[schemars(schema_with = "crate::json_schema::embedding_provider")]
    pub provider: Option<Provider>,
    /// The model's name at the provider. Empty: the provider's default.
    pub model_id: String,
    /// The API key. Empty: the provider's usual environment variable.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
    /// The base address. Empty: the provider's own.
    pub host: String,
    /// Whether plain http is permitted to addresses other than loopback.
    pub allow_http: bool,
    /// The length of a vector. Unset: the model's default.
    pub dimensions: Option<u32>,
    /// Seconds to wait for the next byte.
    pub timeout_seconds: u64,
    /// The key found in the provider's usual environment variable.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) environment_key: Secret,
    /// A remark on the key, if it was odd.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) key_remark: Option<String>,
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
            key_remark: None,
        }
    }
}

impl Embedding {
    /// Describes what is wrong with the configured key and what follows from it, without the value itself.
    pub fn key_remark(&self) -> Option<&str> {
        self.key_remark.as_deref()
    }

    /// The key to use: `api_key`, else the value of the provider's usual environment variable at load.
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
