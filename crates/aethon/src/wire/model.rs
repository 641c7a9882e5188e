//! `[model]` and its fallbacks to the provider that answers.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::Prices;
use aethon_config::Config;
use aethon_config::schema::{Api, ApiVersion, Model, Provider as Name};
use aethon_core::model::ModelProvider;
use aethon_providers::{AnthropicVersion, AwsEnvironment, OpenAiApi, Options, Overrides, Provider};

/// The model with its fallbacks behind it.
pub(crate) fn provider_of(config: &Config, aws: &AwsEnvironment) -> Arc<dyn ModelProvider> {
    let prices = super::prices::prices(&config.budget);
    let models = config.model.candidates().iter().map(|model| build(model, aws, &prices)).collect();
    // There is always the model itself.
    aethon_providers::fallback(models).unwrap_or_else(|| build(&config.model, aws, &prices))
}

/// The model and each of its fallbacks by itself, for short answers. What the owner adds in `model.extra` may depend on
/// the limit (a budget for thoughts, say), so then it stays as it is.
pub(crate) fn each_in_short(
    config: &Config,
    aws: &AwsEnvironment,
    most_tokens: u32,
) -> Vec<(Model, Arc<dyn ModelProvider>)> {
    let prices = super::prices::prices(&config.budget);
    let mut models = config.model.candidates();
    for model in models.iter_mut().filter(|model| model.extra.is_empty()) {
        model.max_tokens = Some(model.max_tokens.map_or(most_tokens, |limit| limit.min(most_tokens)));
    }
    let build = |model: Model| {
        let provider = build(&model, aws, &prices);
        (model, provider)
    };
    models.into_iter().map(build).collect()
}

fn build(model: &Model, aws: &AwsEnvironment, prices: &Prices) -> Arc<dyn ModelProvider> {
    let price = prices(model.provider.name(), &model.model_id);
    let mut options = options(model, aws);
    options.overrides.price = price;
    aethon_providers::build(options)
}

/// Whether the sizes and abilities of a model are known, and not only assumed.
pub(crate) fn is_known(model: &Model) -> bool {
    aethon_providers::is_known(provider(model.provider), &model.model_id)
}

fn options(model: &Model, aws: &AwsEnvironment) -> Options {
    Options {
        provider: provider(model.provider),
        model_id: model.model_id.clone(),
        api_key: model.key().clone(),
        key_variable: model.provider.key_variable().unwrap_or_default().to_owned(),
        host: model.host.clone(),
        allow_http: model.allow_http,
        aws: AwsEnvironment { region: model.region.clone().or_else(|| aws.region.clone()), ..aws.clone() },
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
        overrides: Overrides { context_window: model.context_window.map(u64::from), price: None },
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

/// The provider of this name.
pub(crate) fn named(name: &str) -> Option<Provider> {
    const ALL: [Name; 9] = [
        Name::OpenAi,
        Name::Anthropic,
        Name::Ollama,
        Name::Bedrock,
        Name::Gemini,
        Name::LiteLlm,
        Name::Mistral,
        Name::Fake,
        Name::Echo,
    ];
    ALL.into_iter().find(|known| known.name() == name).map(provider)
}
