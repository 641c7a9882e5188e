//! `[model]` to the provider's options.

use std::time::Duration;

use aethon_config::schema::{Api, ApiVersion, Model, Provider as Name};
use aethon_providers::{AnthropicVersion, AwsEnvironment, OpenAiApi, Options, Provider};

pub(crate) fn options(model: &Model, aws: &AwsEnvironment) -> Options {
    Options {
        provider: provider(model.provider),
        model_id: model.model_id.clone(),
        api_key: model.key().clone(),
        key_variable: model.provider.key_variable().unwrap_or_default().to_owned(),
        host: model.host.clone(),
        allow_http: model.allow_http,
        region: model.region.clone(),
        aws: aws.clone(),
        api: match model.api {
            Api::Chat => OpenAiApi::Chat,
            Api::Responses => OpenAiApi::Responses,
        },
        api_version: match model.api_version {
            ApiVersion::V20261021 => AnthropicVersion::V2026,
            ApiVersion::V20230601 => AnthropicVersion::V2023,
        },
        max_tokens: model.max_tokens,
        temperature: model.temperature,
        top_p: model.top_p,
        context_window: model.context_window.map(u64::from),
        timeout: Duration::from_secs(model.timeout_seconds),
        extra: model.extra.clone(),
    }
}

fn provider(name: Name) -> Provider {
    match name {
        Name::OpenAi => Provider::OpenAi,
        Name::Anthropic => Provider::Anthropic,
        Name::Ollama => Provider::Ollama,
        Name::Bedrock => Provider::Bedrock,
        Name::Gemini => Provider::Gemini,
        Name::LiteLlm => Provider::LiteLlm,
        Name::Mistral => Provider::Mistral,
        Name::Fake => Provider::Fake,
        Name::Echo => Provider::Echo,
    }
}
