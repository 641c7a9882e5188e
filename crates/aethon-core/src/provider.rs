//! Who can serve a model, and the versions of their interfaces.
//!
//! The configuration reads these words, the provider crate acts on them, and whoever writes a sentence about a provider
//! takes its name from here; so there is one list and no translation between two. A row of `describe` holds what does
//! not depend on a wire format. Wire formats are the provider crate's, which speaks OpenAI's to every provider that it has
//! no other for: a compatible service is added here and nowhere else (`docs/how-to/add-a-provider.md`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who serves the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// Repeats the message.
    Echo,
}

/// The facts about a provider that hold for all of its models.
struct Description {
    /// The word in the configuration.
    name: &'static str,
    /// The name as people write it.
    title: &'static str,
    /// The default choice today: the current general-purpose model, not the largest.
    default_model: &'static str,
    /// Where its service is, as its own SDK takes the address; empty where that depends on more.
    host: &'static str,
    /// The environment variable that usually holds the key; empty where there is none.
    key_variable: &'static str,
    /// The model that turns text into vectors; empty where the provider has none.
    embedding: &'static str,
    /// The transcription model; empty where the provider has none.
    transcription: &'static str,
    /// The service tiers that its requests may name.
    service_tiers: &'static [&'static str],
    /// Whether others run servers that speak its dialect.
    has_compatible_servers: bool,
}

/// The service tiers of OpenAI's dialect.
const OPENAI_TIERS: &[&str] = &["auto", "default", "flex", "priority"];

impl Description {
    /// Offers vectors as well, by this model unless another one is named.
    const fn embeds(self, model: &'static str) -> Self {
        Self { embedding: model, ..self }
    }

    /// Writes speech down as well, by this model unless another one is named.
    const fn transcribes(self, model: &'static str) -> Self {
        Self { transcription: model, ..self }
    }

    /// Lets a request name one of these service tiers.
    const fn serves_tiers(self, service_tiers: &'static [&'static str]) -> Self {
        Self { service_tiers, ..self }
    }

    /// May also be another server that speaks this dialect, with its own models and perhaps without a key.
    const fn has_compatible_servers(self) -> Self {
        Self { has_compatible_servers: true, ..self }
    }
}

const fn row(
    name: &'static str,
    title: &'static str,
    default_model: &'static str,
    host: &'static str,
    key_variable: &'static str,
) -> Description {
    Description {
        name,
        title,
        default_model,
        host,
        key_variable,
        embedding: "",
        transcription: "",
        service_tiers: &[],
        has_compatible_servers: false,
    }
}

impl Provider {
    /// Every provider, in the order of the documentation.
    pub const ALL: &[Self] = &[
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

    /// The table of providers: a row each, in the order of [`Description`], with the other models of the service.
    const fn describe(self) -> Description {
        match self {
            Self::OpenAi => {
                row("openai", "OpenAI", "gpt-6-sol", "https://api.openai.com/v1", "OPENAI_API_KEY")
                    .embeds("text-embedding-3-small")
                    .transcribes("gpt-4o-mini-transcribe")
                    .serves_tiers(OPENAI_TIERS)
                    .has_compatible_servers()
            }
            Self::Anthropic => row(
                "anthropic",
                "Anthropic",
                "claude-sonnet-5-5",
                "https://api.anthropic.com",
                "ANTHROPIC_API_KEY",
            )
            .serves_tiers(&["auto", "standard_only"]),
            Self::Ollama => {
                row("ollama", "Ollama", "qwen3", "http://127.0.0.1:11434", "").embeds("nomic-embed-text")
            }
            // An inference profile that works from every region. The region is part of the address, and the keys come from
            // the AWS chain.
            Self::Bedrock => row("bedrock", "Amazon Bedrock", "global.anthropic.claude-sonnet-5-5", "", "")
                .embeds("amazon.titan-embed-text-v2:0")
                .serves_tiers(&["default", "flex", "priority", "reserved"]),
            Self::Gemini => row(
                "gemini",
                "Gemini",
                "gemini-3.8-flash",
                "https://generativelanguage.googleapis.com",
                "GEMINI_API_KEY",
            )
            .embeds("gemini-embedding-001")
            .serves_tiers(&["standard", "flex", "priority"]),
            Self::LiteLlm => {
                row("litellm", "LiteLLM", "gpt-6-sol", "http://127.0.0.1:4000", "LITELLM_API_KEY")
                    .embeds("text-embedding-3-small")
                    .transcribes("gpt-4o-mini-transcribe")
                    .serves_tiers(OPENAI_TIERS)
                    .has_compatible_servers()
            }
            Self::Mistral => {
                row("mistral", "Mistral", "mistral-large-latest", "https://api.mistral.ai", "MISTRAL_API_KEY")
                    .embeds("mistral-embed")
            }
            Self::Fake => row("fake", "the scripted model", "fake", "http://localhost", "").embeds("fake"),
            Self::Echo => row("echo", "the echo model", "echo", "http://localhost", ""),
        }
    }

    /// The word for it in the configuration.
    pub const fn name(self) -> &'static str {
        self.describe().name
    }

    /// The words for all of them.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|provider| provider.name()).collect()
    }

    /// The provider of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|provider| provider.name() == name)
    }

    /// Its name as people write it, for sentences.
    pub const fn title(self) -> &'static str {
        self.describe().title
    }

    /// The model used while `model.model_id` is empty.
    pub const fn default_model(self) -> &'static str {
        self.describe().default_model
    }

    /// The environment variable in which its users usually keep the key, where there is one.
    pub fn key_variable(self) -> Option<&'static str> {
        Some(self.describe().key_variable).filter(|variable| !variable.is_empty())
    }

    /// The address of its service, as its own SDK takes it; `None` where that depends on more, such as a region.
    pub fn host(self) -> Option<&'static str> {
        Some(self.describe().host).filter(|host| !host.is_empty())
    }

    /// The model that turns text into vectors unless another one is named; `None` where the provider offers no vectors.
    pub fn embedding_model(self) -> Option<&'static str> {
        Some(self.describe().embedding).filter(|model| !model.is_empty())
    }

    /// The default transcription model; `None` where the provider has none.
    pub fn transcription_model(self) -> Option<&'static str> {
        Some(self.describe().transcription).filter(|model| !model.is_empty())
    }

    /// The service tiers that its requests may name; empty where it has none.
    pub const fn service_tiers(self) -> &'static [&'static str] {
        self.describe().service_tiers
    }

    /// Whether others run servers that speak its dialect, with models of their own and perhaps without a key.
    pub const fn has_compatible_servers(self) -> bool {
        self.describe().has_compatible_servers
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which of OpenAI's two interfaces is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenAiApi {
    /// Responses on OpenAI's own host for models that take tools nowhere else; chat completions otherwise.
    #[default]
    Auto,
    /// Chat completions, which every compatible server speaks.
    Chat,
    /// Responses, whatever the host is.
    Responses,
}

impl OpenAiApi {
    /// The words for them in the configuration.
    pub const NAMES: [&'static str; 3] = ["auto", "chat", "responses"];
}

/// The revision of Anthropic's interface, which decides how the key is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AnthropicVersion {
    /// The current one; the key goes as a bearer token.
    #[default]
    #[serde(rename = "2026-10-21")]
    V2026,
    /// The older one; the key goes as `x-api-key`.
    #[serde(rename = "2023-06-01")]
    V2023,
}

impl AnthropicVersion {
    /// The words for them in the configuration.
    pub const NAMES: [&'static str; 2] = ["2026-10-21", "2023-06-01"];
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    #[test]
    fn every_provider_is_found_by_its_name() {
        for &provider in Provider::ALL {
            assert_eq!(Provider::from_name(provider.name()), Some(provider));
            assert_eq!(serde_json::to_value(provider).unwrap(), provider.name());
        }
        assert_eq!(Provider::from_name("OpenAI"), None);
    }

    #[test]
    fn embedders_and_transcribers_have_a_default_model() {
        assert_eq!(Provider::Mistral.embedding_model(), Some("mistral-embed"));
        assert_eq!(Provider::Anthropic.embedding_model(), None);
        assert_eq!(Provider::LiteLlm.transcription_model(), Some("gpt-4o-mini-transcribe"));
        assert_eq!(Provider::Mistral.transcription_model(), None);
    }

    #[test]
    fn the_listed_words_are_the_ones_that_are_read() {
        fn check<T: DeserializeOwned + Serialize + Default>(names: &[&str]) {
            for name in names {
                let read: T = serde_json::from_value((*name).into()).unwrap();
                assert_eq!(serde_json::to_value(read).unwrap(), *name);
            }
            assert_eq!(serde_json::to_value(T::default()).unwrap(), names[0], "the default comes first");
            let refusal = serde_json::from_value::<T>("no".into()).err().unwrap().to_string();
            assert_eq!(refusal.matches('`').count(), 2 + 2 * names.len(), "{refusal}");
        }
        check::<Provider>(&Provider::names());
        check::<OpenAiApi>(&OpenAiApi::NAMES);
        check::<AnthropicVersion>(&AnthropicVersion::NAMES);
    }
}
