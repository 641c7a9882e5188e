//! Connects the codec to the service: addresses, signatures, and a probe that costs nothing.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelErrorKind, ModelRequest};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::signer::Signer;
use super::{sigv4, stream, wire};
use crate::dialect::{Dialect, Probe};
use crate::headers;
use crate::policy::RequestPolicy;
use crate::rules::bare_name;
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The Converse API, streamed if the model supports it.
pub(crate) struct Bedrock {
    service: Arc<Service>,
    signer: Signer,
}

impl Bedrock {
    pub(crate) fn new(service: Arc<Service>, signer: Signer) -> Self {
        Self { service, signer }
    }

    /// Meta's models support tools only without streaming.
    fn streams(&self, body: &Value) -> bool {
        !(streams_no_tools(&self.service.model) && body.get("toolConfig").is_some())
    }
}

/// Returns whether a model must not be streamed when it is offered tools.
pub(crate) fn streams_no_tools(model: &str) -> bool {
    bare_name(model).starts_with("llama")
}

/// Builds a request to a model. The model id is part of the path, fully percent-encoded.
pub(crate) fn outgoing(service: &Service, operation: &str, accept: &'static str, body: Vec<u8>) -> Outgoing {
    let path = format!("/model/{}/{operation}", sigv4::encode(&service.model, b""));
    Outgoing { method: Method::Post, url: service.url(&path), headers: headers::json(accept), body }
}

#[async_trait]
impl Dialect for Bedrock {
    fn framing(&self) -> Framing {
        Framing::Binary
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        let body = wire::body(request, policy);
        let (operation, accept) = match self.streams(&body) {
            true => ("converse-stream", "application/vnd.amazon.eventstream"),
            false => ("converse", "application/json"),
        };
        outgoing(&self.service, operation, accept, policy.finish(body))
    }

    async fn authorize(&self, outgoing: Outgoing) -> Result<Outgoing, ModelError> {
        self.signer.sign(outgoing).await
    }

    fn decoder(&self, input_tokens: u64, _policy: &RequestPolicy) -> Box<dyn Decoder> {
        Box::new(stream::ConverseDecoder::new(self.service.clone(), input_tokens))
    }

    /// Sends an empty conversation: the service reports a bad key or an unknown model before it complains about that,
    /// which is all a probe needs.
    fn probe(&self) -> Probe {
        let body = json!({ "messages": [] }).to_string().into_bytes();
        Probe::of(outgoing(&self.service, "converse", "application/json", body))
    }

    fn read_probe(&self, _answer: &Value) -> Result<String, ModelError> {
        Ok(self.service.answers())
    }

    fn read_probe_failure(&self, error: ModelError) -> Result<String, ModelError> {
        if error.kind() == ModelErrorKind::InvalidRequest && error.status() == Some(400) {
            return self.read_probe(&Value::Null);
        }
        Err(error)
    }
}
