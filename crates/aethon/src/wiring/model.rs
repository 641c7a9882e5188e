//! Builds the models from `[model]` and its fallbacks.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{Learned, Models};
use aethon_config::schema::Model;
use aethon_core::learned::{ModelFact, ModelKey};
use aethon_core::model::ModelProvider;
use aethon_core::provider::Provider;
use aethon_providers::{AwsEnvironment, ModelFacts, Options};
use jiff::tz::TimeZone;

use crate::models::{self, Concern};
use crate::prepared::Prepared;

/// The models of an agent, and the facts known about them.
pub(crate) struct AgentModels {
    /// The models in order of preference.
    pub(crate) models: Models,
    /// The model for summaries, if it is a different one.
    pub(crate) small: Option<Models>,
    /// Facts learned about them earlier.
    pub(crate) learned: Learned,
}

impl AgentModels {
    /// The models of the assistant: those of the embedding program, else those in the configuration.
    pub(crate) fn of(prepared: &Prepared, learned: Learned) -> Self {
        if let Some(own) = prepared.source.parts.model.clone() {
            return Self { models: Models::one(own), small: None, learned };
        }
        let model = &prepared.config.model;
        let build = |model: &Model| build(prepared, model, &learned.facts);
        let fallbacks: Vec<_> = model.candidates().iter().skip(1).map(build).collect();
        let models = Models::with_fallbacks(build(model), fallbacks);
        let small = model.small_one().as_ref().map(build).map(Models::one);
        Self { models, small, learned }
    }
}

/// The model and each fallback on its own, limited to short answers. If the owner set `model.extra`, the limit is left alone,
/// because settings in there may depend on it (a thinking budget, for example).
pub(crate) fn each_in_short(prepared: &Prepared, most_tokens: u32) -> Vec<(Model, Arc<dyn ModelProvider>)> {
    let mut models = prepared.config.model.candidates();
    for model in models.iter_mut().filter(|model| model.extra.is_empty()) {
        model.max_tokens = Some(model.max_tokens.map_or(most_tokens, |limit| limit.min(most_tokens)));
    }
    let build = |model: Model| {
        let provider = build(prepared, &model, &[]);
        (model, provider)
    };
    models.into_iter().map(build).collect()
}

/// Builds models by id, with the provider and host of the default one; `None` for the default one itself, or if an embedding
/// program supplied its own.
pub(crate) fn by_id(prepared: &Prepared) -> impl Fn(&str) -> Option<Models> + Send + Sync + use<> {
    let (model, aws, catalog) =
        (prepared.config.model.clone(), prepared.aws.clone(), prepared.catalog.clone());
    let has_own = prepared.source.parts.model.is_some();
    move |id| {
        let mut usual = model.clone();
        id.clone_into(&mut usual.small);
        let other = usual.small_one().filter(|_| !has_own)?;
        let mut options = options(&other, &aws);
        options.overrides.catalog = catalog.clone();
        Some(Models::one(aethon_providers::build(options)))
    }
}

fn build(prepared: &Prepared, model: &Model, learned: &[(ModelKey, ModelFact)]) -> Arc<dyn ModelProvider> {
    let mut options = options(model, &prepared.aws);
    options.overrides.catalog = prepared.catalog.clone();
    let is_it = |key: &ModelKey| {
        key.provider == model.provider.name() && key.model == model.model_id && key.host == model.host.trim()
    };
    let window_of = |(_, fact): &(ModelKey, ModelFact)| match fact {
        ModelFact::ContextWindow(tokens) => Some(*tokens),
        ModelFact::TokenRatio(_) => None,
    };
    options.overrides.learned_window = learned.iter().filter(|(key, _)| is_it(key)).find_map(window_of);
    aethon_providers::build(options)
}

/// The known or assumed facts about a model.
pub(crate) fn facts(prepared: &Prepared, model: &Model) -> ModelFacts {
    prepared.catalog.facts(model.provider, &model.model_id, &model.host)
}

/// Concerns about the configured models.
pub(crate) fn concerns(prepared: &Prepared) -> Vec<Concern> {
    if prepared.source.parts.model.is_some() {
        return Vec::new();
    }
    let today = prepared.clock().now().to_zoned(TimeZone::UTC).date();
    let of = |model: Model| {
        // Ollama describes its own models, and an owner who set `context_window` knows the model.
        let is_described = model.provider == Provider::Ollama || model.context_window.is_some();
        let name = format!("{} by {}", model.model_id, model.provider);
        models::concerns(&name, &facts(prepared, &model), is_described, today)
    };
    prepared.config.model.candidates().into_iter().flat_map(of).collect()
}

fn options(model: &Model, aws: &AwsEnvironment) -> Options {
    let mut options = Options::new(model.provider, &model.model_id);
    options.api_key = model.key().clone();
    options.host.clone_from(&model.host);
    options.allow_http = model.allow_http;
    options.aws =
        AwsEnvironment { region: model.region.clone().or_else(|| aws.region.clone()), ..aws.clone() };
    options.api = model.api;
    options.api_version = model.api_version;
    options.max_tokens = model.max_tokens;
    options.temperature = model.temperature;
    options.top_p = model.top_p;
    options.overrides.context_window = model.context_window.map(u64::from);
    options.effort = model.effort;
    options.extras.web_search = model.web_search;
    options.extras.service_tier.clone_from(&model.service_tier);
    options.timeout = model.timeout_seconds.map(Duration::from_secs);
    options.extras.body = model.extra.clone();
    options
}
