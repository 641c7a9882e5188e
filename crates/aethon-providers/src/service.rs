//! A model service as the rest of this crate sees it: its address, its key, and its name for people.

use std::time::Duration;

use aethon_core::secret::Secret;
use aethon_guard::redact::Redactor;

use crate::catalog::ModelFacts;
use crate::endpoint::Endpoint;
use crate::headers::{self, Headers};
use crate::options::{Options, Provider};
use crate::rules::ModelRules;

/// One configured service.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    /// The facts about the model.
    pub(crate) facts: ModelFacts,
    /// The rules for requests to it.
    pub(crate) rules: ModelRules,
    pub(crate) endpoint: Endpoint,
    pub(crate) timeout: Duration,
    pub(crate) key: Secret,
    /// What was odd about the key as it was given.
    pub(crate) key_remark: Option<String>,
    /// The owner's own headers.
    pub(crate) headers: Headers,
    title: String,
    redactor: ServiceRedactor,
}

/// Knows the service's credentials.
struct ServiceRedactor(Redactor);

impl std::fmt::Debug for ServiceRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServiceRedactor")
    }
}

impl Service {
    pub(crate) fn new(options: &Options, endpoint: Endpoint) -> Self {
        let headers = options.connection.headers.iter().map(|(_, value)| value);
        let secrets = options.aws.secrets().into_iter().chain([&options.api_key]).chain(headers).cloned();
        let facts = options.facts();
        let rules = ModelRules::of(facts, &options.model_id);
        Self {
            provider: options.provider,
            model: options.model_id.clone(),
            facts,
            rules,
            title: title(options.provider, &endpoint),
            endpoint,
            timeout: options.connection.timeout.unwrap_or_else(|| usual_silence(&rules)),
            key: options.api_key.clone(),
            key_remark: options.connection.key_remark.clone(),
            // Those that cannot be sent are reported before anything is.
            headers: headers::additional(&options.connection.headers).unwrap_or_default(),
            redactor: ServiceRedactor(Redactor::new(secrets)),
        }
    }

    /// Returns its name for sentences: the provider's, or that of the owner's own server.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Returns the host and port by which the owner's own server is named, where the provider's name would mislead.
    pub(crate) fn server(&self) -> Option<&str> {
        self.title.strip_prefix(SERVER_AT)
    }

    /// Says that it answers, for a probe.
    pub(crate) fn answers(&self) -> String {
        let base = &self.endpoint.base;
        match self.server() {
            Some(_) => format!("the server at {base} answers"),
            None => format!("{} answers at {base}", self.title),
        }
    }

    /// Returns whether it is OpenAI's own host, and not another that speaks its dialect.
    pub(crate) fn is_openai(&self) -> bool {
        self.provider == Provider::OpenAi && !self.endpoint.is_own
    }

    /// Returns an address under the base.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint.base)
    }

    /// Returns how to set the key: `set model.api_key or the environment variable X`.
    pub(crate) fn how_to_set_key(&self) -> String {
        how_to_set_key(self.provider)
    }

    /// Removes the key, and anything that looks like one, from a text of the service.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.0.redact(text).into_owned()
    }
}

/// How the name of an owner's own server begins.
const SERVER_AT: &str = "the server at ";

/// Returns the name of a service for sentences. Whatever answers at an owner's own address is not the provider, except
/// for software that people run themselves.
pub(crate) fn title(provider: Provider, endpoint: &Endpoint) -> String {
    let is_software = matches!(provider, Provider::Ollama | Provider::LiteLlm);
    let is_vendor = provider.host().is_some_and(|host| host_of(host) == host_of(&endpoint.base));
    match endpoint.is_own && !is_software && !is_vendor {
        true => format!("{SERVER_AT}{}", host_of(&endpoint.base)),
        false => provider.title().to_owned(),
    }
}

/// Returns the host and port of an address.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Returns how long a model may stay silent before the connection counts as lost. A reasoning model may be silent for
/// minutes.
fn usual_silence(rules: &ModelRules) -> Duration {
    Duration::from_secs(if rules.reasons { 600 } else { 120 })
}

/// Returns the remedy for a missing key.
pub(crate) fn how_to_set_key(provider: Provider) -> String {
    match provider.key_variable() {
        None => "set model.api_key".to_owned(),
        Some(variable) => format!("set model.api_key or the environment variable {variable}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_server_is_named_by_its_address() {
        let check = |provider, host: &str, expected: &str| {
            let options = Options { host: host.into(), ..Options::new(provider, "m") };
            let service = Service::new(&options, Endpoint::of(&options).unwrap());
            assert_eq!(service.title(), expected, "{host}");
        };
        check(Provider::OpenAi, "", "OpenAI");
        check(Provider::OpenAi, "https://api.openai.com/v1", "OpenAI");
        check(Provider::OpenAi, "http://127.0.0.1:8080/v1", "the server at 127.0.0.1:8080");
        check(Provider::OpenAi, "https://openrouter.ai/api/v1", "the server at openrouter.ai");
        check(Provider::Anthropic, "http://[::1]:9/x", "the server at [::1]:9");
        check(Provider::Gemini, "https://proxy.example", "the server at proxy.example");
        check(Provider::Mistral, "https://proxy.example", "the server at proxy.example");
        check(Provider::Bedrock, "https://proxy.example", "the server at proxy.example");
        check(Provider::Ollama, "http://127.0.0.1:9999", "Ollama");
    }

    #[test]
    fn silence_is_borne_longer_of_a_model_that_reasons() {
        let check = |model: &str, set: Option<u64>, expected: u64| {
            let mut options = Options::new(Provider::OpenAi, model);
            options.connection.timeout = set.map(Duration::from_secs);
            let endpoint = Endpoint::of(&options).unwrap();
            assert_eq!(Service::new(&options, endpoint).timeout, Duration::from_secs(expected), "{model}");
        };
        check("gpt-5.4", None, 600);
        check("o4-mini", None, 600);
        check("claude-sonnet-5", None, 600);
        check("gpt-4o", None, 120);
        check("unheard-of", None, 120);
        check("gpt-5.4", Some(30), 30);
    }
}
