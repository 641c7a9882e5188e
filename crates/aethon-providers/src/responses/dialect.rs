//! Connects the codec to the service. Model addresses and keys are the same as for chat completions.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelRequest};
use serde_json::Value;

use super::{stream, wire};
use crate::dialect::{Dialect, Probe};
use crate::headers;
use crate::openai::OpenAi;
use crate::policy::RequestPolicy;
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The responses API.
pub(crate) struct Responses {
    service: Arc<Service>,
    /// Probes work the same for both APIs.
    chat: OpenAi,
}

impl Responses {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        let chat = OpenAi::new(service.clone());
        Self { service, chat }
    }

    fn outgoing(&self, accept: &'static str, body: Vec<u8>) -> Outgoing {
        let mut headers = headers::json(accept);
        headers.extend(headers::bearer(&self.service.key));
        Outgoing { method: Method::Post, url: self.service.url("/responses"), headers, body }
    }
}

impl Dialect for Responses {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        self.outgoing("text/event-stream", policy.finish(wire::body(request, policy)))
    }

    fn decoder(&self, input_tokens: u64, _policy: &RequestPolicy) -> Box<dyn Decoder> {
        Box::new(stream::ResponsesDecoder::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Probe {
        Probe { fallback_probe: Some(self.outgoing("application/json", b"{}".to_vec())), ..self.chat.probe() }
    }

    fn read_probe(&self, answer: &Value) -> Result<String, ModelError> {
        self.chat.read_probe(answer)
    }
}
