//! Connects the codec to a service: addresses, headers, and reading the list of models.

use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelError, ModelRequest};
use async_trait::async_trait;
use serde_json::Value;

use super::profile::Profile;
use super::{describe, pricing, stream, wire};
use crate::dialect::{Dialect, Probe};
use crate::headers;
use crate::learned::Description;
use crate::options::Provider;
use crate::policy::RequestPolicy;
use crate::remote::{Discovery, Query};
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::{Method, Outgoing};

/// The chat completions of one service.
pub(crate) struct OpenAi {
    service: Arc<Service>,
    profile: Profile,
}

impl OpenAi {
    /// Creates the dialect for OpenAI itself, and for compatible services.
    pub(crate) fn new(service: Arc<Service>) -> Self {
        Self::with_profile(service, super::profile::OPENAI)
    }

    /// Creates the dialect for a service with differences.
    pub(crate) fn with_profile(service: Arc<Service>, profile: Profile) -> Self {
        // OpenAI itself never sends thoughts, and accepts none from others.
        let echoes_reasoning = profile.echoes_reasoning && !service.is_openai();
        Self { service, profile: Profile { echoes_reasoning, ..profile } }
    }

    fn outgoing(&self, method: Method, path: &str, accept: &'static str, body: Vec<u8>) -> Outgoing {
        let mut headers = headers::json(accept);
        headers.extend(headers::bearer(&self.service.key));
        Outgoing { method, url: self.service.url(path), headers, body }
    }

    fn models(&self) -> Outgoing {
        self.outgoing(Method::Get, self.profile.models_path, "application/json", Vec::new())
    }

    /// Where a server describes itself in its own way, beside the OpenAI-compatible paths.
    fn beside(&self, path: &str) -> Outgoing {
        let mut outgoing = self.outgoing(Method::Get, "", "application/json", Vec::new());
        let base = &self.service.endpoint.base;
        outgoing.url = format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base));
        outgoing
    }
}

impl Dialect for OpenAi {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        let body = wire::body(request, policy, &self.profile);
        self.outgoing(Method::Post, self.profile.chat_path, "text/event-stream", policy.finish(body))
    }

    fn decoder(&self, input_tokens: u64, _policy: &RequestPolicy) -> Box<dyn Decoder> {
        Box::new(stream::ChatDecoder::new(self.service.clone(), input_tokens))
    }

    fn probe(&self) -> Probe {
        let fallback_probe =
            self.outgoing(Method::Post, self.profile.chat_path, "application/json", b"{}".to_vec());
        Probe { request: self.models(), fallback_probe: Some(fallback_probe) }
    }

    fn read_probe(&self, answer: &Value) -> Result<String, ModelError> {
        let model = &self.service.model;
        let models = answer.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let listed = models.iter().any(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
        let answers = self.service.answers();
        Ok(if listed || models.is_empty() {
            answers
        } else {
            format!("{answers}, but does not list the model {model}")
        })
    }
}

#[async_trait]
impl Discovery for OpenAi {
    async fn describe(
        &self,
        query: &Query<'_>,
        capabilities: &Capabilities,
    ) -> Result<Description, ModelError> {
        let list = query.send(self.models()).await?;
        let Some(entry) = describe::entry(&list, &self.service.model) else {
            return Ok(Description::default());
        };
        let known = capabilities.context_window;
        // A proxy has no such pages of its own.
        let is_silent = self.service.provider == Provider::OpenAi && !describe::states_window(entry);
        let properties = match describe::is_llama_cpp(entry) || is_silent {
            true => query.send(self.beside("/props")).await.ok(),
            false => None,
        };
        let mut described = describe::description(entry, properties.as_ref(), known);
        if is_silent
            && described.report.context_window.is_none()
            && let Ok(list) = query.send(self.beside("/api/v0/models")).await
            && let Some(entry) = describe::entry(&list, &self.service.model)
        {
            return Ok(describe::of_lm_studio(entry, known));
        }
        described.report.price = pricing::of(entry);
        Ok(described)
    }
}
