//! Connects the codec to the service: addresses, the key's header, and reading the list of models.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelRequest};
use serde_json::Value;

use super::{stream, wire};
use crate::dialect::{Dialect, Probe};
use crate::headers;
use crate::policy::RequestPolicy;
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The streamed `generateContent` API.
pub(crate) struct Gemini {
    service: Arc<Service>,
}

impl Gemini {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        Self { service }
    }
}

/// Returns the path of a model's method. A base that ends in the older API version keeps it.
pub(crate) fn method_path(service: &Service, method: &str) -> String {
    let model = service.model.trim_start_matches("models/");
    format!("{}/models/{model}:{method}", version(service))
}

fn version(service: &Service) -> &'static str {
    if service.endpoint.base.ends_with("/v1beta") { "" } else { "/v1" }
}

/// Builds a request with the key.
pub(crate) fn outgoing(
    service: &Service,
    method: Method,
    path: &str,
    accept: &'static str,
    body: Vec<u8>,
) -> Outgoing {
    let mut headers = headers::json(accept);
    headers.extend(headers::key("x-goog-api-key", &service.key));
    Outgoing { method, url: service.url(path), headers, body }
}

impl Dialect for Gemini {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        let body = policy.finish(wire::body(request, policy));
        let path = method_path(&self.service, "streamGenerateContent?alt=sse");
        outgoing(&self.service, Method::Post, &path, "text/event-stream", body)
    }

    fn decoder(&self, input_tokens: u64, _policy: &RequestPolicy) -> Box<dyn Decoder> {
        Box::new(stream::GenerateContentDecoder::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Probe {
        let path = format!("{}/models?pageSize=1000", version(&self.service));
        Probe::of(outgoing(&self.service, Method::Get, &path, "application/json", Vec::new()))
    }

    fn read_probe(&self, answer: &Value) -> Result<String, ModelError> {
        let (answers, model) = (self.service.answers(), &self.service.model);
        let models = answer.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let bare = |name: &str| name.trim_start_matches("models/").to_owned();
        let listed = models
            .iter()
            .filter_map(|entry| entry.get("name")?.as_str())
            .any(|name| bare(name) == bare(model));
        Ok(if listed || models.is_empty() {
            answers
        } else {
            format!("{answers}, but does not list the model {model}")
        })
    }
}
