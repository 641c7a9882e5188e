//! The policy by which a request is written: the model's abilities, the rules for it, the owner's settings, and
//! the restrictions learnt from refusals. Where these conflict, they are reconciled here and not in the dialects.

use std::sync::Arc;

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::model::{Capabilities, Effort, ModelRequest, ProviderSearch};
use aethon_core::tool::ToolSpec;
use aethon_core::web_search::WEB_SEARCH;
use serde_json::Value;

use crate::prompt::merge_extra;
use crate::restrictions::{LearnedRestriction, LearnedRestrictions};
use crate::rules::ModelRules;
use crate::settings::Settings;

/// The smallest thinking budget a model accepts.
const MIN_BUDGET: u64 = 1024;

/// The policy for one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestPolicy {
    pub(crate) capabilities: Arc<Capabilities>,
    pub(crate) rules: ModelRules,
    pub(crate) settings: Arc<Settings>,
    pub(crate) restrictions: LearnedRestrictions,
}

impl RequestPolicy {
    /// Returns whether this was learnt.
    pub(crate) fn has_learnt(&self, restriction: LearnedRestriction) -> bool {
        self.restrictions.has(restriction)
    }

    /// Returns whether tools are sent.
    pub(crate) fn offers_tools(&self, request: &ModelRequest) -> bool {
        self.capabilities.tools && !request.tools.is_empty()
    }

    /// Returns the maximum tokens of the response: the smaller of the owner's limit and the request's.
    pub(crate) fn output_limit(&self, request: &ModelRequest) -> Option<u64> {
        let set = self.settings.max_tokens.map(u64::from);
        match (set, request.max_output) {
            (Some(set), Some(asked)) => Some(set.min(asked)),
            (limit, other) => limit.or(other),
        }
    }

    /// Like [`RequestPolicy::output_limit`], for services that require a limit or share it with thoughts. By default, it is
    /// the model's own.
    pub(crate) fn output_room(&self, request: &ModelRequest) -> u64 {
        self.output_limit(request).unwrap_or(self.capabilities.max_output)
    }

    /// Returns the schema of the answer, if the request has one and the service accepts it. Otherwise the request asks for
    /// such an answer in words.
    pub(crate) fn schema<'r>(&self, request: &'r ModelRequest) -> Option<&'r AnswerSchema> {
        request.schema.as_deref().filter(|_| !self.has_learnt(LearnedRestriction::NoSchema))
    }

    /// Returns whether the provider may search the web for this request.
    pub(crate) fn searches_web(&self, request: &ModelRequest) -> bool {
        request.web_search && self.wants_web_search()
    }

    /// Returns whether the provider may search the web for requests that allow it.
    pub(crate) fn wants_web_search(&self) -> bool {
        self.capabilities.web_search == ProviderSearch::On
            && !self.has_learnt(LearnedRestriction::NoWebSearch)
    }

    /// Returns the tools to send. Where the provider searches the web, the tool of that name would be a second one.
    pub(crate) fn tools<'r>(&self, request: &'r ModelRequest) -> Vec<&'r ToolSpec> {
        let tools = request.tools.iter().filter(|_| self.offers_tools(request));
        match self.searches_web(request) {
            true => tools.filter(|tool| tool.name != WEB_SEARCH).collect(),
            false => tools.collect(),
        }
    }

    /// Returns how much the model should think, if that was requested and the model accepts an effort.
    pub(crate) fn effort(&self, request: &ModelRequest) -> Option<Effort> {
        let can_be_told = self.rules.reasons || !self.rules.is_known;
        request
            .effort
            .or(self.settings.effort)
            .filter(|_| can_be_told && !self.has_learnt(LearnedRestriction::NoEffort))
    }

    /// Returns the thinking budget that an effort gets out of `room` tokens, or `None` if there is not enough for
    /// both.
    pub(crate) fn thinking_budget(effort: Effort, room: u64) -> Option<u64> {
        let wanted = match effort {
            Effort::None => return None,
            Effort::Low => 2_048,
            Effort::Medium => 8_192,
            Effort::High => 24_576,
        };
        // The rest must suffice for an answer.
        let budget = wanted.min(room.saturating_sub(MIN_BUDGET));
        (budget >= MIN_BUDGET).then_some(budget)
    }

    /// Returns the temperature, if the model accepts one.
    pub(crate) fn temperature(&self) -> Option<f64> {
        let is_taken = !self.rules.refuses_sampling && !self.has_learnt(LearnedRestriction::NoTemperature);
        self.settings.temperature.filter(|_| is_taken)
    }

    /// Returns `top_p`, if the model accepts it.
    pub(crate) fn top_p(&self) -> Option<f64> {
        let is_taken = !self.rules.refuses_sampling && !self.has_learnt(LearnedRestriction::NoTopP);
        self.settings.top_p.filter(|_| is_taken)
    }

    /// Returns the body as it is sent.
    pub(crate) fn finish(&self, mut body: Value) -> Vec<u8> {
        merge_extra(&mut body, &self.settings.extra);
        body.to_string().into_bytes()
    }
}
