//! The capabilities of the configured model: known facts, overridden by the owner's settings.

use aethon_core::model::{Capabilities, ProviderSearch, WindowFacts, WindowSource};

use crate::bedrock;
use crate::catalog::ModelFacts;
use crate::endpoint::is_local;
use crate::options::{OpenAiApi, Options, Provider};
use crate::rules::ModelRules;
use crate::tool_schema::documented_limit;

/// What Ollama gives a model unless it is asked for more, on machines without a large graphics card.
pub(crate) const OLLAMA_WINDOW: u64 = 4_096;

/// Returns the capabilities of the configured model.
pub(crate) fn of(options: &Options) -> Capabilities {
    let facts = options.facts();
    let (source, context_window) = window(options, &facts);
    let max_output = longest_output(options);
    let mut capabilities = Capabilities::new(options.provider.name(), options.model_id.as_str())
        .with_host(options.host.trim())
        .with_section(options.section.as_str())
        .with_sizes(context_window, max_output.min(context_window))
        .with_abilities(facts.images, facts.tools)
        .with_known(is_described(options, &facts))
        .with_local(is_local(options))
        .with_window(WindowFacts {
            source,
            longest: None,
            is_asked_first: is_asked_first(options, &facts),
            cuts_silently: options.provider == Provider::Ollama,
        });
    capabilities.hidden_output = hides_output(options);
    capabilities.web_search = web_search(options);
    capabilities.tool_terms.limit =
        options.overrides.max_tools.or_else(|| documented_limit(options.provider));
    capabilities.tool_terms.are_read = !matches!(options.provider, Provider::Fake | Provider::Echo);
    capabilities
}

/// Returns whether only the service knows the model's window: Ollama, and other servers on this machine with a model that
/// neither the table nor the owner describes.
fn is_asked_first(options: &Options, facts: &ModelFacts) -> bool {
    match options.provider {
        Provider::Ollama => true,
        Provider::OpenAi => is_local(options) && !facts.is_known && options.owner_window().is_none(),
        _ => false,
    }
}

/// Returns the longest answer, if the window had room for it.
pub(crate) fn longest_output(options: &Options) -> u64 {
    options.max_tokens.map_or_else(|| options.facts().max_output, u64::from)
}

/// Returns the context window as far as it is known without the service, and the source of that.
fn window(options: &Options, facts: &ModelFacts) -> (WindowSource, u64) {
    let (source, tokens) = match (options.owner_window(), options.overrides.learned_window) {
        (Some(set), _) => (WindowSource::Config, set),
        (None, Some(learned)) => (WindowSource::Learnt, learned),
        // The table has the longest window of the model, which Ollama does not give it on its own.
        (None, None) if options.provider == Provider::Ollama => {
            (WindowSource::Assumed, OLLAMA_WINDOW.min(facts.context_window))
        }
        (None, None) if facts.is_known => (WindowSource::Table, facts.context_window),
        (None, None) => (WindowSource::Assumed, facts.context_window),
    };
    (source, tokens.max(1))
}

/// Returns whether the owner wants the provider to search the web, and whether it can.
fn web_search(options: &Options) -> ProviderSearch {
    if !options.extras.web_search {
        return ProviderSearch::Off;
    }
    let rules = ModelRules::of(options.facts(), &options.model_id);
    let can_search = match options.provider {
        Provider::OpenAi if is_openrouter(&options.host) => true,
        // Chat completions have it for a few models that always search; the others search in responses only.
        Provider::OpenAi if options.host.trim().is_empty() && options.api == OpenAiApi::Chat => {
            rules.searches_web && options.model_id.contains("search")
        }
        Provider::OpenAi | Provider::LiteLlm | Provider::Anthropic | Provider::Gemini => rules.searches_web,
        _ => false,
    };
    if can_search { ProviderSearch::On } else { ProviderSearch::Lacking }
}

/// Returns whether an address is that of OpenRouter, which searches for every model.
pub(crate) fn is_openrouter(host: &str) -> bool {
    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    host.eq_ignore_ascii_case("openrouter.ai")
}

/// Returns whether some billed output cannot be observed while it is produced. For OpenAI's models that is their
/// reasoning: chat completions show none of it, and responses only a summary. Claude and Gemini show theirs.
fn hides_output(options: &Options) -> bool {
    match options.provider {
        Provider::Bedrock => bedrock::streams_no_tools(&options.model_id),
        provider if provider.has_compatible_servers() => {
            ModelRules::of(options.facts(), &options.model_id).hides_thoughts
        }
        _ => false,
    }
}

/// Returns whether the model needs no warning that it is unknown: it is in the catalogue, the owner set the context
/// window or the service stated it earlier, or it is served by Ollama, which describes its models.
fn is_described(options: &Options, facts: &ModelFacts) -> bool {
    let is_told = options.owner_window().or(options.overrides.learned_window).is_some();
    facts.is_known || is_told || options.provider == Provider::Ollama
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_output_is_declared() {
        let check = |provider, model: &str, expected| {
            assert_eq!(of(&Options::new(provider, model)).hidden_output, expected, "{model}");
        };
        check(Provider::OpenAi, "gpt-5", true);
        check(Provider::OpenAi, "o4-mini", true);
        check(Provider::LiteLlm, "openai/gpt-5.4", true);
        check(Provider::LiteLlm, "anthropic/claude-sonnet-5", false);
        check(Provider::OpenAi, "deepseek-reasoner", false);
        check(Provider::OpenAi, "gpt-4o", false);
        check(Provider::OpenAi, "unheard-of", false);
        check(Provider::Anthropic, "claude-opus-4-6", false);
        check(Provider::Gemini, "gemini-3-pro-preview", false);
        check(Provider::Bedrock, "meta.llama3-3-70b-instruct-v1:0", true);
        check(Provider::Ollama, "gpt-oss:20b", false);
        check(Provider::Fake, "fake", false);
    }

    #[test]
    fn the_provider_searches_only_where_it_can() {
        let check = |provider, model: &str, host: &str, api, expected| {
            let options = Options::new(provider, model).with(|options| {
                (options.extras.web_search, options.host, options.api) = (true, host.into(), api);
            });
            assert_eq!(of(&options).web_search, expected, "{provider} {model} {host}");
        };
        use OpenAiApi::{Auto, Chat};
        use ProviderSearch::{Lacking, On};
        check(Provider::OpenAi, "gpt-6-sol", "", Auto, On);
        check(Provider::OpenAi, "gpt-6-sol", "", Chat, Lacking);
        check(Provider::OpenAi, "gpt-5-search-api", "", Chat, On);
        check(Provider::Anthropic, "claude-sonnet-5-5", "", Auto, On);
        check(Provider::Gemini, "gemini-3.8-flash", "", Auto, On);
        check(Provider::OpenAi, "meta-llama/llama-3.3-70b", "https://openrouter.ai/api/v1", Auto, On);
        check(Provider::OpenAi, "meta-llama/llama-3.3-70b", "https://notopenrouter.ai/api/v1", Auto, Lacking);
        check(Provider::Ollama, "qwen3", "", Auto, Lacking);
        check(Provider::Mistral, "mistral-large-latest", "", Auto, Lacking);
        check(Provider::Bedrock, "global.anthropic.claude-sonnet-5-5", "", Auto, Lacking);
        assert_eq!(of(&Options::new(Provider::OpenAi, "gpt-6-sol")).web_search, ProviderSearch::Off);
    }

    #[test]
    fn the_owner_knows_better_than_the_table() {
        let mut options = Options::new(Provider::OpenAi, "gpt-5");
        options.overrides.context_window = Some(1000);
        options.max_tokens = Some(5000);
        options.overrides.learned_window = Some(2000);
        let found = of(&options);
        assert_eq!((found.context_window, found.max_output), (1000, 1000));
    }

    #[test]
    fn ollama_is_assumed_to_give_its_usual_window_only() {
        for model in ["llama3.2", "unheard-of"] {
            let mut options = Options::new(Provider::Ollama, model);
            assert_eq!(of(&options).context_window, OLLAMA_WINDOW, "{model}");
            options.overrides.learned_window = Some(32_768);
            assert_eq!(of(&options).window.source, WindowSource::Learnt);
            options.extras.body = serde_json::from_str(r#"{"options": {"num_ctx": 16384}}"#).unwrap();
            let found = of(&options);
            assert_eq!((found.context_window, found.window.source), (16_384, WindowSource::Config));
        }
    }

    #[test]
    fn services_on_this_machine_are_local() {
        let check = |provider, host: &str, expected| {
            let mut options = Options { host: host.into(), ..Options::new(provider, "m") };
            options.connection.allow_http = true;
            let found = of(&options);
            assert_eq!(found.is_local, expected, "{host}");
            assert_eq!(found.window.is_asked_first, expected && provider != Provider::LiteLlm, "{host}");
            options.overrides.context_window = Some(8_192);
            assert_eq!(of(&options).window.is_asked_first, provider == Provider::Ollama, "{host}");
        };
        check(Provider::OpenAi, "http://127.0.0.1:1234/v1", true);
        check(Provider::OpenAi, "http://localhost:1234/v1", true);
        check(Provider::LiteLlm, "http://[::1]:4000", true);
        check(Provider::Ollama, "", true);
        check(Provider::OpenAi, "http://192.168.1.5:1234/v1", false);
        check(Provider::Anthropic, "http://127.0.0.1:1234", false);
        check(Provider::OpenAi, "", false);
    }

    #[test]
    fn learnt_windows_override_the_catalogue() {
        let mut options = Options::new(Provider::OpenAi, "gpt-5");
        options.overrides.learned_window = Some(2000);
        assert_eq!(of(&options).context_window, 2000);
    }
}
