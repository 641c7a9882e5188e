//! What is known of models by the beginning of their names.
//!
//! A table, because services do not tell it in a common way. An unknown model gets cautious numbers, and
//! `model.context_window` overrides what is wrong here.

use aethon_core::model::Capabilities;

use crate::options::{Options, Provider};

/// What a family of models can do.
struct Family {
    /// How their ids begin, without a vendor's path (`openai/`, `anthropic.`) before it.
    prefix: &'static str,
    context_window: u64,
    max_output: u64,
    images: bool,
    tools: bool,
}

const fn family(prefix: &'static str, context_window: u64, max_output: u64, images: bool) -> Family {
    Family { prefix, context_window, max_output, images, tools: true }
}

/// The longest matching prefix wins.
const FAMILIES: &[Family] = &[
    family("gpt-5", 400_000, 128_000, true),
    family("gpt-5-chat", 128_000, 16_384, true),
    family("gpt-4.1", 1_047_576, 32_768, true),
    family("gpt-4o", 128_000, 16_384, true),
    family("gpt-4-turbo", 128_000, 4_096, true),
    family("gpt-4", 8_192, 4_096, false),
    family("gpt-3.5-turbo", 16_385, 4_096, false),
    family("gpt-oss", 131_072, 32_768, false),
    family("o1", 200_000, 100_000, true),
    family("o1-mini", 128_000, 65_536, false),
    family("o3", 200_000, 100_000, true),
    family("o3-mini", 200_000, 100_000, false),
    family("o4-mini", 200_000, 100_000, true),
    family("claude", 200_000, 32_000, true),
    family("claude-3-", 200_000, 4_096, true),
    family("claude-3-5", 200_000, 8_192, true),
    family("claude-3-7", 200_000, 64_000, true),
    family("claude-sonnet-4", 200_000, 64_000, true),
    family("claude-haiku-4", 200_000, 64_000, true),
    family("claude-opus-4", 200_000, 32_000, true),
    family("gemini", 1_048_576, 8_192, true),
    family("gemini-2.5", 1_048_576, 65_536, true),
    family("gemini-3", 1_048_576, 65_536, true),
    family("mistral", 128_000, 8_192, false),
    family("mistral-large", 128_000, 16_384, true),
    family("mistral-medium", 128_000, 16_384, true),
    family("mistral-small", 128_000, 16_384, true),
    family("ministral", 128_000, 8_192, false),
    family("magistral", 128_000, 32_768, true),
    family("pixtral", 128_000, 8_192, true),
    family("codestral", 256_000, 16_384, false),
    family("devstral", 128_000, 16_384, false),
    family("llama3", 8_192, 4_096, false),
    family("llama3.1", 131_072, 8_192, false),
    family("llama3.2", 131_072, 8_192, false),
    family("llama3.2-vision", 131_072, 8_192, true),
    family("llama3.3", 131_072, 8_192, false),
    family("llama4", 131_072, 8_192, true),
    family("qwen2.5", 32_768, 8_192, false),
    family("qwen2.5vl", 128_000, 8_192, true),
    family("qwen3", 40_960, 16_384, false),
    family("qwen3-vl", 131_072, 16_384, true),
    family("gemma3", 131_072, 8_192, true),
    family("deepseek", 65_536, 8_192, false),
    family("deepseek-r1", 131_072, 32_768, false),
    Family { prefix: "llava", context_window: 4_096, max_output: 2_048, images: true, tools: false },
    Family { prefix: "gemma2", context_window: 8_192, max_output: 4_096, images: false, tools: false },
    Family { prefix: "gemma:", context_window: 8_192, max_output: 4_096, images: false, tools: false },
    family("fake", 200_000, 32_000, true),
    Family { prefix: "echo", context_window: 200_000, max_output: 32_000, images: false, tools: false },
];

/// What is assumed of a model that is not in the table.
const UNKNOWN: Family = family("", 32_768, 4_096, false);
/// What is assumed of one that its vendor serves itself: current ones see pictures and hold much.
const UNKNOWN_HOSTED: Family = family("", 128_000, 8_192, true);

/// What the configured model can do.
pub(crate) fn of(options: &Options) -> Capabilities {
    let family = match options.provider {
        Provider::Fake => find("fake"),
        Provider::Echo => find("echo"),
        _ => find(&options.model_id),
    };
    let hosted = options.host.trim().is_empty() && options.provider != Provider::Ollama;
    let family = family.unwrap_or(if hosted { &UNKNOWN_HOSTED } else { &UNKNOWN });
    let context_window = options.context_window.unwrap_or(family.context_window).max(1);
    let max_output = options.max_tokens.map_or(family.max_output, u64::from);
    Capabilities {
        provider: options.provider.name().to_owned(),
        model: options.model_id.clone(),
        context_window,
        max_output: max_output.min(context_window),
        images: family.images,
        tools: family.tools,
    }
}

fn find(model: &str) -> Option<&'static Family> {
    let name = bare_name(model).to_ascii_lowercase();
    FAMILIES.iter().filter(|family| name.starts_with(family.prefix)).max_by_key(|family| family.prefix.len())
}

/// The model's own name, without what routers and clouds put before it: `openrouter/anthropic/claude-…`,
/// `global.anthropic.claude-…`, `ft:gpt-4o:…`.
pub(crate) fn bare_name(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    ["anthropic.", "mistral.", "meta.", "openai."]
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
        check(Provider::Ollama, "somebody/unheard-of", 32_768, false);
        check(Provider::OpenAi, "unheard-of", 128_000, true);
        check(Provider::Fake, "anything", 200_000, true);
    }

    #[test]
    fn the_owner_knows_better_than_the_table() {
        let mut options = Options::new(Provider::OpenAi, "gpt-5");
        options.context_window = Some(1000);
        options.max_tokens = Some(5000);
        let found = of(&options);
        assert_eq!((found.context_window, found.max_output), (1000, 1000));
    }
}
