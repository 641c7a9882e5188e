//! A model service as the rest of this crate sees it: its address, its key, and its name for people.

use std::time::Duration;

use aethon_core::secret::Secret;
use aethon_guard::redact::Redactor;

use crate::catalog::ModelFacts;
use crate::endpoint::Endpoint;
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
        let secrets = options.aws.secrets().into_iter().chain([&options.api_key]).cloned();
        let facts = options.facts();
        let rules = ModelRules::of(facts, &options.model_id);
        Self {
            provider: options.provider,
            model: options.model_id.clone(),
            facts,
            rules,
            endpoint,
            timeout: options.timeout.unwrap_or_else(|| usual_silence(&rules)),
            key: options.api_key.clone(),
            redactor: ServiceRedactor(Redactor::new(secrets)),
        }
    }

    /// Returns its name for sentences.
    pub(crate) fn title(&self) -> &'static str {
        self.provider.title()
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
    fn silence_is_borne_longer_of_a_model_that_reasons() {
        let check = |model: &str, set: Option<u64>, expected: u64| {
            let mut options = Options::new(Provider::OpenAi, model);
            options.timeout = set.map(Duration::from_secs);
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
