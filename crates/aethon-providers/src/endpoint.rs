//! The address of a service: `model.host`, interpreted by the rules of each provider's own SDK.

use aethon_core::egress::is_loopback;
use url::Url;

use crate::options::{Options, Provider};

/// A validated base address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Without a trailing slash; paths are appended to it.
    pub(crate) base: String,
    /// Whether the owner configured it.
    pub(crate) is_own: bool,
    /// Whether it is on this machine.
    pub(crate) is_loopback: bool,
}

impl Endpoint {
    /// Parses the host. An error is a sentence with the remedy.
    pub(crate) fn of(options: &Options) -> Result<Self, String> {
        let host = options.host.trim();
        let is_own = !host.is_empty();
        let text = if is_own { with_scheme(options.provider, host) } else { own_base(options) };
        let refuse = |why: &str| Err(format!("model.host `{host}` {why}."));
        let Ok(url) = Url::parse(&text) else {
            return refuse("is not an address; write it as https://example.com/v1");
        };
        let Some(server) = url.host_str() else {
            return refuse("names no server; write it as https://example.com/v1");
        };
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("must begin with https:// (or http:// on this machine)");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("model.host must not hold a name or password; put the key into model.api_key.".into());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("must not have a query or fragment");
        }
        let is_loopback = is_loopback(server);
        if url.scheme() == "http" && !is_loopback && !options.connection.allow_http {
            return refuse(
                "is plain http to another machine, where keys and conversations can be read on the way; use \
                 https, or set model.allow_http = true",
            );
        }
        let path = with_rules(options.provider, url.path().trim_end_matches('/'));
        let base = format!("{}{path}", url.origin().ascii_serialization());
        Ok(Self { base, is_own, is_loopback })
    }
}

/// Returns the provider's own address. Only Bedrock's depends on anything else.
fn own_base(options: &Options) -> String {
    let region = || bedrock_base(options.aws.region.as_deref().unwrap_or("us-east-1"));
    options.provider.host().map_or_else(region, str::to_owned)
}

fn bedrock_base(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://bedrock-runtime.{region}.amazonaws.com{suffix}")
}

/// Ollama's SDK reads `gpu-box` as `http://gpu-box:11434`; the others require a full address.
fn with_scheme(provider: Provider, host: &str) -> String {
    if provider != Provider::Ollama || host.contains("://") {
        return host.to_owned();
    }
    let has_port = host.rsplit_once(':').is_some_and(|(rest, port)| {
        port.trim_end_matches('/').parse::<u16>().is_ok() && (!rest.contains(':') || rest.ends_with(']'))
    });
    match (has_port, host.contains('/')) {
        (false, false) => format!("http://{host}:11434"),
        _ => format!("http://{host}"),
    }
}

/// Returns the path as requests need it: with `/v1` for LiteLLM, without for dialects that add it themselves, and
/// unchanged for OpenAI.
fn with_rules(provider: Provider, path: &str) -> String {
    let without = |ending: &str| path.strip_suffix(ending).unwrap_or(path).trim_end_matches('/').to_owned();
    match provider {
        Provider::LiteLlm => without("/v1") + "/v1",
        Provider::Ollama if path.ends_with("/api") => without("/api"),
        Provider::Anthropic | Provider::Ollama | Provider::Bedrock | Provider::Gemini | Provider::Mistral => {
            without("/v1")
        }
        _ => path.to_owned(),
    }
}

/// Returns whether the service of these options runs on this machine, in a form that servers of one's own have. In the
/// other forms, what listens here usually passes requests on to a vendor.
pub fn is_local(options: &Options) -> bool {
    let is_own_form = matches!(options.provider, Provider::OpenAi | Provider::LiteLlm | Provider::Ollama);
    is_own_form && Endpoint::of(options).is_ok_and(|endpoint| endpoint.is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::AwsEnvironment;

    fn of(provider: Provider, host: &str, allow_http: bool) -> Result<Endpoint, String> {
        let mut options = Options { host: host.into(), ..Options::new(provider, "m") };
        options.connection.allow_http = allow_http;
        Endpoint::of(&options)
    }

    #[test]
    fn hosts_are_read_as_the_sdks_read_them() {
        let check = |provider, host: &str, expected: &str| {
            assert_eq!(of(provider, host, false).unwrap().base, expected, "{host}");
        };
        check(Provider::OpenAi, "", "https://api.openai.com/v1");
        check(Provider::OpenAi, "https://openrouter.ai/api/v1/", "https://openrouter.ai/api/v1");
        check(Provider::OpenAi, "http://localhost:8080", "http://localhost:8080");
        check(Provider::OpenAi, " http://127.0.0.1:8080/v1// ", "http://127.0.0.1:8080/v1");
        check(Provider::OpenAi, "http://[::1]:8080/v1", "http://[::1]:8080/v1");
        check(Provider::Anthropic, "", "https://api.anthropic.com");
        check(Provider::Anthropic, "https://proxy.example/claude/", "https://proxy.example/claude");
        check(Provider::Anthropic, "https://proxy.example/v1", "https://proxy.example");
        check(
            Provider::Gemini,
            "https://generativelanguage.googleapis.com/v1/",
            "https://generativelanguage.googleapis.com",
        );
        check(Provider::Gemini, "https://proxy.example/v1beta", "https://proxy.example/v1beta");
        check(Provider::Mistral, "https://api.mistral.ai/v1/", "https://api.mistral.ai");
        check(Provider::LiteLlm, "http://localhost:4000", "http://localhost:4000/v1");
        check(Provider::LiteLlm, "http://localhost:4000/v1/", "http://localhost:4000/v1");
        check(Provider::LiteLlm, "https://x.example/llm", "https://x.example/llm/v1");
        check(Provider::Ollama, "", "http://127.0.0.1:11434");
        check(Provider::Ollama, "localhost", "http://localhost:11434");
        check(Provider::Ollama, "127.0.0.1:9999", "http://127.0.0.1:9999");
        check(Provider::Ollama, "[::1]:9999", "http://[::1]:9999");
        check(Provider::Ollama, "http://localhost:11434/api/", "http://localhost:11434");
        check(Provider::Ollama, "https://ollama.com/v1", "https://ollama.com");
    }

    #[test]
    fn bedrock_is_in_its_region() {
        let check = |region: &str, expected: &str| {
            let aws = AwsEnvironment { region: Some(region.into()), ..AwsEnvironment::default() };
            let options = Options { aws, ..Options::new(Provider::Bedrock, "m") };
            assert_eq!(Endpoint::of(&options).unwrap().base, expected);
        };
        check("eu-central-1", "https://bedrock-runtime.eu-central-1.amazonaws.com");
        check("cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        for host in ["http://example.com/v1", "http://192.168.1.5:8080/v1", "http://localhost.example/v1"] {
            assert!(of(Provider::OpenAi, host, false).unwrap_err().contains("model.allow_http"), "{host}");
            assert!(!of(Provider::OpenAi, host, true).unwrap().is_loopback, "{host}");
        }
        for host in ["http://127.8.9.1/v1", "http://[::ffff:127.0.0.1]/v1", "http://LOCALHOST:1/v1"] {
            assert!(of(Provider::OpenAi, host, false).unwrap().is_loopback, "{host}");
        }
        assert!(of(Provider::Ollama, "gpu-box", false).unwrap_err().contains("model.allow_http"));
    }

    #[test]
    fn invalid_addresses_are_refused_with_a_sentence() {
        let check = |host: &str, words: &str| {
            let sentence = of(Provider::OpenAi, host, false).unwrap_err();
            assert!(sentence.contains(words) && sentence.contains("model.host"), "{host}: {sentence}");
        };
        check("example.com/v1", "not an address");
        check("ftp://example.com", "https://");
        check("https://", "not an address");
        check("localhost:8080", "names no server");
        check("https://me:hunter2@example.com", "model.api_key");
        check("https://example.com/v1?key=x", "query");
    }
}
