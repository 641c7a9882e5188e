//! Connects the codec to the service: headers for either API version, addresses, and reading the list of models.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelRequest};
use serde_json::Value;
use ureq::http::{HeaderName, HeaderValue};

use super::{stream, wire};
use crate::dialect::{Dialect, Probe};
use crate::headers;
use crate::options::AnthropicVersion;
use crate::policy::RequestPolicy;
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The messages API.
pub(crate) struct Anthropic {
    service: Arc<Service>,
    version: AnthropicVersion,
}

impl Anthropic {
    pub(crate) fn new(service: Arc<Service>, version: AnthropicVersion) -> Self {
        Self { service, version }
    }

    fn outgoing(&self, method: Method, path: &str, accept: &'static str, body: Vec<u8>) -> Outgoing {
        let (version, key) = match self.version {
            AnthropicVersion::V2026 => ("2026-10-21", headers::bearer(&self.service.key)),
            AnthropicVersion::V2023 => ("2023-06-01", headers::key("x-api-key", &self.service.key)),
        };
        let mut headers = headers::json(accept);
        headers.push((HeaderName::from_static("anthropic-version"), HeaderValue::from_static(version)));
        headers.extend(key);
        Outgoing { method, url: self.service.url(path), headers, body }
    }
}

impl Dialect for Anthropic {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        let body = policy.finish(wire::body(request, policy));
        self.outgoing(Method::Post, "/v1/messages", "text/event-stream", body)
    }

    fn decoder(&self, input_tokens: u64, _policy: &RequestPolicy) -> Box<dyn Decoder> {
        Box::new(stream::MessagesDecoder::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Probe {
        let fallback_probe = self.outgoing(Method::Post, "/v1/messages", "application/json", b"{}".to_vec());
        let request = self.outgoing(Method::Get, "/v1/models?limit=1000", "application/json", Vec::new());
        Probe { request, fallback_probe: Some(fallback_probe) }
    }

    fn read_probe(&self, answer: &Value) -> Result<String, ModelError> {
        let (answers, model) = (self.service.answers(), &self.service.model);
        let models = answer.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // The list has dated names; the configuration often has their short forms.
        let listed =
            models.iter().filter_map(|entry| entry.get("id")?.as_str()).any(|id| id.starts_with(model));
        Ok(if listed || models.is_empty() {
            answers
        } else {
            format!("{answers}, but does not list the model {model}")
        })
    }
}
