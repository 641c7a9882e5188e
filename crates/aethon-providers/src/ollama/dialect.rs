//! Connects the codec to the service: addresses, an optional key for hosted servers, and reading the list of models.

use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelError, ModelErrorKind, ModelRequest};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{describe, stream, wire};
use crate::dialect::{Dialect, Probe};
use crate::headers;
use crate::learned::Description;
use crate::policy::RequestPolicy;
use crate::remote::{Discovery, Query};
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The chat API.
pub(crate) struct Ollama {
    service: Arc<Service>,
}

impl Ollama {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        Self { service }
    }

    fn outgoing(&self, method: Method, path: &str, accept: &'static str, body: Vec<u8>) -> Outgoing {
        let mut headers = headers::json(accept);
        headers.extend(headers::bearer(&self.service.key));
        Outgoing { method, url: self.service.url(path), headers, body }
    }
}

impl Dialect for Ollama {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        let body = policy.finish(wire::body(request, policy));
        self.outgoing(Method::Post, "/api/chat", "application/x-ndjson", body)
    }

    fn decoder(&self, input_tokens: u64, _policy: &RequestPolicy) -> Box<dyn Decoder> {
        Box::new(stream::OllamaDecoder::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Probe {
        Probe::of(self.outgoing(Method::Get, "/api/tags", "application/json", Vec::new()))
    }

    fn read_probe(&self, answer: &Value) -> Result<String, ModelError> {
        let (base, model) = (&self.service.endpoint.base, self.service.model.as_str());
        if describe::entry(answer, model).is_some() {
            return Ok(format!("Ollama answers at {base} and has the model {model}"));
        }
        let sentence = format!(
            "Ollama at {base} has no model {model}; run `ollama pull {model}`, or change model.model_id."
        );
        Err(ModelError::new(ModelErrorKind::NotFound, sentence))
    }
}

#[async_trait]
impl Discovery for Ollama {
    async fn describe(
        &self,
        query: &Query<'_>,
        capabilities: &Capabilities,
    ) -> Result<Description, ModelError> {
        let ask = |method, path, body| query.send(self.outgoing(method, path, "application/json", body));
        let model = self.service.model.as_str();
        let body = json!({ "model": model }).to_string().into_bytes();
        let shown = ask(Method::Post, "/api/show", body).await;
        let mut described = match &shown {
            Ok(shown) => describe::description(shown, capabilities),
            Err(_) => Description { is_open: true, ..Description::default() },
        };
        if described.report.context_window.is_none() {
            match ask(Method::Get, "/api/ps", Vec::new()).await {
                Ok(list) => describe::running(&mut described, &list, model),
                // Neither is answered: the first says more.
                Err(error) => return Err(shown.err().unwrap_or(error)),
            }
        }
        Ok(described)
    }
}
