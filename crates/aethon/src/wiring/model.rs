//! Builds the models from `[model]` and its fallbacks.

use std::collections::BTreeSet;
use std::sync::Arc;

use aethon_agent::{Learned, Models};
use aethon_config::schema::Model;
use aethon_core::model::ModelProvider;
use aethon_core::provider::Provider;
use aethon_providers::ModelFacts;
use jiff::tz::TimeZone;

use super::model_builder::ModelBuilder;
use super::model_choices::Choices;
pub(crate) use super::model_choices::{in_words, nearest};
use crate::models::{self, Concern};
use crate::prepared::Prepared;

/// The models of an agent, and the facts known about them.
pub(crate) struct AgentModels {
    /// The models in order of preference.
    pub(crate) models: Models,
    /// The model for summaries, if it is a different one.
    pub(crate) small: Option<Models>,
    /// Other models that may be chosen; `None` if an embedding program supplied its own.
    pub(crate) choices: Option<Arc<Choices>>,
    /// Facts learned about them earlier.
    pub(crate) learned: Learned,
}

impl AgentModels {
    /// The models of the assistant: those of the embedding program, else those in the configuration.
    pub(crate) fn of(prepared: &Prepared, learned: Learned) -> Self {
        if let Some(own) = prepared.source.parts.model.clone() {
            return Self { models: Models::one(own), small: None, choices: None, learned };
        }
        let (model, builder) = (&prepared.config.model, ModelBuilder::of(prepared, learned.facts.clone()));
        let build = |model: &Model| builder.build(model);
        let fallbacks: Vec<_> = model.candidates().iter().skip(1).map(build).collect();
        let models = Models::with_fallbacks(build(model), fallbacks);
        let small = model.small_one().as_ref().map(build).map(Models::one);
        let provider = models.iter().next().cloned();
        let choices = provider.map(|provider| Arc::new(Choices::new(model.clone(), builder, provider)));
        Self { models, small, choices, learned }
    }
}

/// The model and each fallback on its own, limited to short answers. If the owner set `model.extra`, the limit is left alone,
/// because settings in there may depend on it (a thinking budget, for example).
pub(crate) fn each_in_short(prepared: &Prepared, most_tokens: u32) -> Vec<(Model, Arc<dyn ModelProvider>)> {
    let mut models = prepared.config.model.candidates();
    for model in models.iter_mut().filter(|model| model.extra.is_empty()) {
        model.max_tokens = Some(model.max_tokens.map_or(most_tokens, |limit| limit.min(most_tokens)));
    }
    let builder = ModelBuilder::of(prepared, Vec::new());
    let build = |model: Model| {
        let provider = builder.build(&model);
        (model, provider)
    };
    models.into_iter().map(build).collect()
}

/// Builds models by the name of a named one or by id, with the provider and host of the default one; `None` for the default
/// one itself, or if an embedding program supplied its own.
pub(crate) fn by_name(prepared: &Prepared) -> impl Fn(&str) -> Option<Models> + Send + Sync + use<> {
    let (model, builder) = (prepared.config.model.clone(), ModelBuilder::of(prepared, Vec::new()));
    let has_own = prepared.source.parts.model.is_some();
    move |name| {
        if has_own {
            return None;
        }
        if let Some(named) = model.named.get(name) {
            let mut all = named.model.candidates().into_iter().map(|model| builder.build(&model));
            return Some(Models::with_fallbacks(all.next()?, all));
        }
        let mut usual = model.clone();
        name.clone_into(&mut usual.small);
        Some(Models::one(builder.build(&usual.small_one()?)))
    }
}

/// The known or assumed facts about a model.
pub(crate) fn facts(prepared: &Prepared, model: &Model) -> ModelFacts {
    prepared.catalog.facts(model.provider, &model.model_id, &model.host)
}

/// Concerns about the configured models. An unknown one is first looked up at its service: a proxy knows the names that its
/// owner chose.
pub(crate) async fn concerns(prepared: &Prepared) -> Vec<Concern> {
    if prepared.source.parts.model.is_some() {
        return Vec::new();
    }
    let today = prepared.clock().now().to_zoned(TimeZone::UTC).date();
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for model in prepared.config.model.all() {
        if !seen.insert((model.provider.name(), model.model_id.clone(), model.host.clone())) {
            continue;
        }
        let facts = facts(prepared, &model);
        // Ollama describes its own models, and an owner who set `context_window` knows the model.
        let mut is_described = model.provider == Provider::Ollama || model.context_window.is_some();
        if !facts.is_known && !is_described {
            let report = ModelBuilder::of(prepared, Vec::new()).build(&model).learn().await;
            is_described = report.is_ok_and(|report| report.context_window.is_some());
        }
        let name = format!("{} by {}", model.model_id, model.provider);
        all.extend(models::concerns(&name, &facts, is_described, today));
    }
    all
}
