//! Joins the codec to the service. Addresses of models and keys are as for chat completions.

use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelError, ModelRequest};
use serde_json::Value;

use super::{stream, wire};
use crate::headers;
use crate::openai::OpenAi;
use crate::remote::{Dialect, Probe};
use crate::service::Service;
use crate::settings::Settings;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The responses interface.
pub(crate) struct Responses {
    service: Arc<Service>,
    settings: Settings,
    /// Probes both interfaces alike.
    chat: OpenAi,
}

impl Responses {
    pub(crate) fn new(service: Arc<Service>, settings: Settings) -> Self {
        let chat = OpenAi::new(service.clone(), settings.clone());
        Self { service, settings, chat }
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

    fn ask(&self, request: &ModelRequest, capabilities: &Capabilities) -> Outgoing {
        let body = wire::body(request, capabilities, &self.settings);
        self.outgoing("text/event-stream", self.settings.finish(body))
    }

    fn decoder(&self, input_tokens: u64) -> Box<dyn Decoder> {
        Box::new(stream::Reader::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Probe {
        Probe { knock: Some(self.outgoing("application/json", b"{}".to_vec())), ..self.chat.probe() }
    }

    fn judge(&self, answer: &Value) -> Result<String, ModelError> {
        self.chat.judge(answer)
    }
}
