//! `model.api = "auto"`: chat completions or responses, whichever the model needs at this host.
//!
//! OpenAI's own host supports tools of its newer models only in responses, and preserves the thoughts of every
//! reasoning model only there. Other servers use the same model names but often lack responses, so they get chat
//! completions until the server itself asks for responses.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelRequest};
use serde_json::Value;

use super::Responses;
use crate::dialect::{Dialect, Probe};
use crate::openai::{OpenAi, Profile};
use crate::policy::RequestPolicy;
use crate::restrictions::LearnedRestriction;
use crate::service::Service;
use crate::stream::{Decoder, Framing};
use crate::transport::Outgoing;

/// Either API.
pub(crate) struct AutoApi {
    service: Arc<Service>,
    chat: OpenAi,
    responses: Responses,
}

impl AutoApi {
    pub(crate) fn new(service: Arc<Service>, profile: Profile) -> Self {
        let chat = OpenAi::with_profile(service.clone(), profile);
        Self { chat, responses: Responses::new(service.clone()), service }
    }

    fn dialect(&self, policy: &RequestPolicy) -> &dyn Dialect {
        let rules = &policy.rules;
        let is_wanted =
            self.service.is_openai() && (rules.tools_need_responses || rules.is_openai && rules.reasons);
        // Apart from a few models that always search, OpenAI's own search the web in responses only.
        let searches =
            self.service.is_openai() && policy.wants_web_search() && !self.service.model.contains("search");
        if is_wanted || searches || policy.has_learnt(LearnedRestriction::NeedsResponses) {
            &self.responses
        } else {
            &self.chat
        }
    }
}

impl Dialect for AutoApi {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing {
        self.dialect(policy).build_request(request, policy)
    }

    fn decoder(&self, input_tokens: u64, policy: &RequestPolicy) -> Box<dyn Decoder> {
        self.dialect(policy).decoder(input_tokens, policy)
    }

    fn probe(&self) -> Probe {
        self.chat.probe()
    }

    fn read_probe(&self, answer: &Value) -> Result<String, ModelError> {
        self.chat.read_probe(answer)
    }
}
