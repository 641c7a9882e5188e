//! Joins the codec to the service: addresses, an optional key for hosted ones, and what the list of models says.

use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelError, ModelErrorKind, ModelRequest};
use serde_json::{Value, json};

use super::{stream, wire};
use crate::headers;
use crate::remote::{Description, Dialect};
use crate::service::Service;
use crate::settings::Settings;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The chat interface.
pub(crate) struct Ollama {
    service: Arc<Service>,
    capabilities: Capabilities,
    settings: Settings,
}

impl Ollama {
    pub(crate) fn new(service: Arc<Service>, capabilities: Capabilities, settings: Settings) -> Self {
        Self { service, capabilities, settings }
    }

    fn outgoing(&self, method: Method, path: &str, accept: &'static str, body: Vec<u8>) -> Outgoing {
        outgoing(&self.service, method, path, accept, body)
    }
}

fn outgoing(service: &Service, method: Method, path: &str, accept: &'static str, body: Vec<u8>) -> Outgoing {
    let mut headers = headers::json(accept);
    headers.extend(headers::bearer(&service.key));
    Outgoing { method, url: service.url(path), headers, body }
}

/// What the model was made for, as `/api/show` tells it.
pub(crate) const SHOW: Description = Description {
    question: |service| {
        let body = json!({ "model": service.model }).to_string().into_bytes();
        outgoing(service, Method::Post, "/api/show", "application/json", body)
    },
    // The key begins with the architecture: `llama.context_length`.
    window: |description| {
        let facts = description.get("model_info")?.as_object()?;
        facts.iter().find_map(|(key, value)| key.ends_with(".context_length").then(|| value.as_u64())?)
    },
};

impl Dialect for Ollama {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn ask(&self, request: &ModelRequest) -> Outgoing {
        let body = wire::body(request, &self.capabilities, &self.settings);
        self.outgoing(Method::Post, "/api/chat", "application/x-ndjson", self.settings.finish(body))
    }

    fn decoder(&self, input_tokens: u64) -> Box<dyn Decoder> {
        Box::new(stream::Reader::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Outgoing {
        self.outgoing(Method::Get, "/api/tags", "application/json", Vec::new())
    }

    fn judge(&self, answer: &Value) -> Result<String, ModelError> {
        let (base, model) = (&self.service.endpoint.base, self.service.model.as_str());
        let models = answer.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let name = |entry: &Value| entry.get("name").or(entry.get("model"))?.as_str().map(str::to_owned);
        // A name without a tag means the tag `latest`.
        let matches = |name: String| name == model || name.strip_suffix(":latest") == Some(model);
        if models.iter().filter_map(name).any(matches) {
            return Ok(format!("Ollama answers at {base} and has the model {model}"));
        }
        let sentence = format!(
            "Ollama at {base} has no model {model}; run `ollama pull {model}`, or change model.model_id."
        );
        Err(ModelError::new(ModelErrorKind::NotFound, sentence))
    }
}
