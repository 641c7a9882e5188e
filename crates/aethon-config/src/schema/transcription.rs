//! `[transcription]`: the transcription of voice messages.

use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transcription of voice messages.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Transcription {
    /// The transcription provider. `none`: voice messages are not transcribed. `openai` includes every compatible server, such as
    /// Groq or a whisper server of your own.
    #[serde(with = "super::offers::transcription")]
    #[schemars(schema_with = "crate::json_schema::transcription_provider")]
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
    /// The expected language, as two letters such as `en`. Empty: the model detects it.
    pub language: String,
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
            key_remark: None,
        }
    }
}

impl Transcription {
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
