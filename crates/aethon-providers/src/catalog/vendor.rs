//! Vendors: the first half of an id in the catalogue, `VENDOR/NAME`.
//!
//! A price belongs to a vendor; sizes and abilities belong to the model wherever it runs. So a row's price applies
//! only if the service in use belongs to the vendor, which this module decides.

use aethon_core::provider::Provider;
use url::Url;

/// LiteLLM's names of vendors whose models Aethon can use, and the vendor in the catalogue. Those beyond the nine
/// providers speak OpenAI's dialect, or are reached through a LiteLLM proxy.
const VENDORS: [(&str, &str); 25] = [
    ("openai", "openai"),
    ("anthropic", "anthropic"),
    ("gemini", "gemini"),
    ("bedrock", "bedrock"),
    ("bedrock_converse", "bedrock"),
    ("mistral", "mistral"),
    ("codestral", "mistral"),
    ("ollama", "ollama"),
    ("deepseek", "deepseek"),
    ("xai", "xai"),
    ("groq", "groq"),
    ("moonshot", "moonshot"),
    ("zai", "zai"),
    ("minimax", "minimax"),
    ("cerebras", "cerebras"),
    ("cohere_chat", "cohere"),
    ("cohere", "cohere"),
    ("together_ai", "together_ai"),
    ("dashscope", "dashscope"),
    ("fireworks_ai", "fireworks"),
    ("perplexity", "perplexity"),
    ("azure", "azure"),
    ("vertex_ai-language-models", "vertex_ai"),
    ("vertex_ai-anthropic_models", "vertex_ai"),
    ("vertex_ai", "vertex_ai"),
];

/// Host names of vendors.
const HOSTS: [(&str, &str); 16] = [
    ("api.openai.com", "openai"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "xai"),
    ("api.groq.com", "groq"),
    ("api.moonshot.ai", "moonshot"),
    ("api.z.ai", "zai"),
    ("api.minimax.io", "minimax"),
    ("api.cerebras.ai", "cerebras"),
    ("api.together.xyz", "together_ai"),
    ("api.together.ai", "together_ai"),
    ("api.fireworks.ai", "fireworks"),
    ("api.perplexity.ai", "perplexity"),
    // The forms of OpenAI that these vendors offer beside their own.
    ("generativelanguage.googleapis.com", "gemini"),
    ("api.mistral.ai", "mistral"),
    ("api.anthropic.com", "anthropic"),
    ("dashscope-intl.aliyuncs.com", "dashscope"),
];

/// Host name suffixes of Azure, where each customer has a name of their own.
const AZURE: [&str; 3] = [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"];

/// A router that passes the vendors' list prices on.
const ROUTER: &str = "openrouter.ai";

/// The router's names of vendors that sell under their own list prices.
const ROUTED: [(&str, &str); 11] = [
    ("openai", "openai"),
    ("anthropic", "anthropic"),
    ("google", "gemini"),
    ("mistralai", "mistral"),
    ("deepseek", "deepseek"),
    ("x-ai", "xai"),
    ("moonshotai", "moonshot"),
    ("z-ai", "zai"),
    ("minimax", "minimax"),
    ("cohere", "cohere"),
    ("qwen", "dashscope"),
];

/// Returns the catalogue's vendor for a LiteLLM name.
pub(super) fn of_litellm(word: &str) -> Option<&'static str> {
    VENDORS.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours)
}

/// Returns the vendors whose prices apply to a model of this provider at this address, most likely first.
///
/// A vendor's own model ids at an unknown address are assumed to lead to the vendor: a gateway passes its prices on,
/// and a price that is accidentally too high is safer than none.
pub(super) fn sellers(provider: Provider, model: &str, host: &str) -> Vec<&'static str> {
    match provider {
        Provider::Fake | Provider::Echo => Vec::new(),
        Provider::OpenAi if is_router(host) => {
            let maker = model.split('/').next().unwrap_or_default();
            ROUTED.iter().filter(|(theirs, _)| *theirs == maker).map(|(_, ours)| *ours).collect()
        }
        // A deployment is usually named after its model.
        Provider::OpenAi if is_azure(host) => vec!["azure", "openai"],
        Provider::OpenAi => vec![of_host(host).unwrap_or("openai")],
        // A proxy's ids begin with the vendor, except for models that LiteLLM knows by name.
        Provider::LiteLlm => match model.split_once('/') {
            Some((vendor, _)) => of_litellm(vendor).into_iter().collect(),
            None => vec!["openai", "anthropic"],
        },
        _ => vec![provider.name()],
    }
}

/// Returns whether this is a vendor's own address; an empty one is the provider's.
pub(super) fn is_known_host(host: &str) -> bool {
    host.trim().is_empty() || of_host(host).is_some()
}

/// Returns whether this is the address of a router that passes the vendors' list prices on.
pub(super) fn is_router(host: &str) -> bool {
    name_of(host).as_deref() == Some(ROUTER)
}

fn is_azure(host: &str) -> bool {
    name_of(host).is_some_and(|name| AZURE.iter().any(|suffix| name.ends_with(suffix)))
}

fn name_of(host: &str) -> Option<String> {
    let url = Url::parse(host.trim()).ok()?;
    Some(url.host_str()?.trim_end_matches('.').to_ascii_lowercase())
}

fn of_host(host: &str) -> Option<&'static str> {
    let name = name_of(host)?;
    HOSTS.iter().find(|(known, _)| *known == name).map(|(_, vendor)| *vendor)
}
