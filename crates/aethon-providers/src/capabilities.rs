//! What the configured model can do: the known facts, and what the owner knows better.

use aethon_core::model::Capabilities;

use crate::facts;
use crate::options::{Options, Provider};

/// What the configured model can do.
pub(crate) fn of(options: &Options) -> Capabilities {
    let is_hosted = options.host.trim().is_empty() && options.provider != Provider::Ollama;
    let facts = facts::of(options.provider, &options.model_id, is_hosted);
    let context_window = options.overrides.context_window.unwrap_or(facts.context_window).max(1);
    let max_output = options.max_tokens.map_or(facts.max_output, u64::from);
    Capabilities {
        provider: options.provider.name().to_owned(),
        model: options.model_id.clone(),
        context_window,
        max_output: max_output.min(context_window),
        images: facts.sees_images(),
        tools: facts.calls_tools(),
    }
}

/// The model's own name, without what routers and clouds put before it: `openrouter/anthropic/claude-…`,
/// `global.anthropic.claude-…`, `ft:gpt-4o:…`.
pub(crate) fn bare_name(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    ["anthropic.", "mistral.", "meta.", "openai.", "amazon.", "cohere.", "deepseek."]
        .iter()
        .find_map(|vendor| name.split_once(vendor).map(|(_, rest)| rest))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_of_the_bare_name_decides() {
        let check = |provider, model: &str, window, images| {
            let found = of(&Options::new(provider, model));
            assert_eq!((found.context_window, found.images), (window, images), "{model}");
        };
        check(Provider::OpenAi, "gpt-5-mini", 400_000, true);
        check(Provider::OpenAi, "gpt-4.1-nano", 1_047_576, true);
        check(Provider::OpenAi, "gpt-4", 8_192, false);
        check(Provider::OpenAi, "ft:gpt-4o:acme", 128_000, true);
        check(Provider::LiteLlm, "openrouter/anthropic/claude-sonnet-4-5", 200_000, true);
        check(Provider::Bedrock, "global.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, true);
        check(Provider::Ollama, "llama3.2-vision:11b", 131_072, true);
        check(Provider::Ollama, "somebody/unheard-of", 32_768, true);
        check(Provider::OpenAi, "unheard-of", 128_000, true);
        check(Provider::Fake, "anything", 200_000, true);
    }

    #[test]
    fn the_owner_knows_better_than_the_table() {
        let mut options = Options::new(Provider::OpenAi, "gpt-5");
        options.overrides.context_window = Some(1000);
        options.max_tokens = Some(5000);
        let found = of(&options);
        assert_eq!((found.context_window, found.max_output), (1000, 1000));
    }
}
