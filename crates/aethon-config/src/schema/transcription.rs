//! `[transcription]`: the transcription of voice messages.

use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Voice messages into words.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Transcription {
    /// Who writes down what is said. `none`: nobody, and voice messages are not heard. `openai` is every server that speaks
    /// its dialect, such as Groq or a whisper server of your own.
    #[serde(with = "super::offers::transcription")]
    #[schemars(schema_with = "crate::json_schema::transcription_provider")]
    pub provider: Option<Provider>,
    /// The model's name at the provider. Empty: the provider's usual one.
    pub model_id: String,
    /// The key. Empty: the provider's usual environment variable.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
    /// The base address. Empty: the provider's own.
    pub host: String,
    /// Permits plain http to an address that is not loopback.
    pub allow_http: bool,
    /// The language that is mostly spoken, as two letters such as `en`. Empty: the model finds out.
    pub language: String,
    /// Seconds to wait for the next byte.
    pub timeout_seconds: u64,
    /// The key found in the provider's usual environment variable.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) environment_key: Secret,
}

impl Default for Transcription {
    fn default() -> Self {
        Self {
            provider: None,
            model_id: String::new(),
            api_key: Secret::default(),
            host: String::new(),
            allow_http: false,
            language: String::new(),
            timeout_seconds: 120,
            environment_key: Secret::default(),
        }
    }
}

impl Transcription {
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
