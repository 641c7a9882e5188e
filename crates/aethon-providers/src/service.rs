//! A model service as the rest of this crate sees it: where it is, what opens it, and how to speak of it to a person.

use std::time::Duration;

use aethon_core::redact::Redactor;
use aethon_core::secret::Secret;

use crate::endpoint::Endpoint;
use crate::options::{Options, Provider};

/// One configured service.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) timeout: Duration,
    pub(crate) key: Secret,
    key_variable: String,
    redactor: ServiceRedactor,
}

/// Knows what opens this service.
struct ServiceRedactor(Redactor);

impl std::fmt::Debug for ServiceRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServiceRedactor")
    }
}

impl Service {
    pub(crate) fn new(options: &Options, endpoint: Endpoint) -> Self {
        let secrets = options.aws.secrets().into_iter().chain([&options.api_key]).cloned();
        Self {
            provider: options.provider,
            model: options.model_id.clone(),
            endpoint,
            timeout: options.timeout,
            key: options.api_key.clone(),
            key_variable: options.key_variable.clone(),
            redactor: ServiceRedactor(Redactor::new(secrets)),
        }
    }

    /// Its name in sentences.
    pub(crate) fn title(&self) -> &'static str {
        self.provider.title()
    }

    /// Its address under the base.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint.base)
    }

    /// How to set the key: `set model.api_key or the environment variable X`.
    pub(crate) fn how_to_set_key(&self) -> String {
        how_to_set_key(&self.key_variable)
    }

    /// Text of the service without the key and anything that looks like one.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.0.redact(text).into_owned()
    }
}

/// The remedy for a missing key.
pub(crate) fn how_to_set_key(variable: &str) -> String {
    if variable.is_empty() {
        "set model.api_key".to_owned()
    } else {
        format!("set model.api_key or the environment variable {variable}")
    }
}
