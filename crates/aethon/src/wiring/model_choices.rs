//! The models that a conversation or a message may choose: the named ones, the configured one with its fallbacks, and any
//! other of the configured service.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aethon_agent::{AgentModels, ChosenModels, ModelDirectory, Models};
use aethon_config::schema::Model;
use aethon_core::error::{Error, Result};
use aethon_core::model::ModelProvider;
use aethon_core::model_choice::{ListedModel, ModelChoices, ModelSource, OfferedModel};
use aethon_core::provider::Provider;
use aethon_core::session::no_such_model;
use aethon_providers::ModelFacts;
use async_trait::async_trait;
use tokio::time::timeout;

use super::model_builder::ModelBuilder;

/// How long the list of a service is believed.
const LISTED_FOR: Duration = Duration::from_secs(300);

/// How long it is believed that a service lists nothing, or does not answer.
const MISSING_FOR: Duration = Duration::from_secs(30);

/// How long a service may take to list its models.
const LIST_WAIT: Duration = Duration::from_secs(2);

/// The longest name of a model, in bytes.
const MAX_NAME: usize = 200;

/// How many similar names an error mentions.
const MAX_NAMED: usize = 3;

/// The models of one configuration.
pub(crate) struct Choices {
    main: Model,
    builder: ModelBuilder,
    /// The configured model, which knows its service.
    provider: Arc<dyn ModelProvider>,
    listed: Mutex<Option<(Instant, Arc<[ListedModel]>)>>,
}

impl Choices {
    pub(crate) fn new(main: Model, builder: ModelBuilder, provider: Arc<dyn ModelProvider>) -> Self {
        Self { main, builder, provider, listed: Mutex::default() }
    }

    /// Returns the list of the configured service, which may be some minutes old; empty if there is none.
    async fn listed(&self) -> Arc<[ListedModel]> {
        let known = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_believed = |at: &Instant, list: &[ListedModel]| {
            at.elapsed() < if list.is_empty() { MISSING_FOR } else { LISTED_FOR }
        };
        if let Some((_, list)) = known.filter(|(at, list)| is_believed(at, list)) {
            return list;
        }
        let list: Arc<[ListedModel]> = match timeout(LIST_WAIT, self.provider.list()).await {
            Ok(Ok(list)) => list.into(),
            Ok(Err(error)) => {
                tracing::info!(%error, "the service did not list its models");
                Arc::default()
            }
            Err(_) => Arc::default(),
        };
        let known = Some((Instant::now(), list.clone()));
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = known;
        list
    }

    /// Returns the ids that the catalogue has for the configured provider.
    fn catalogued(&self) -> impl Iterator<Item = String> {
        let vendor = self.main.provider.name();
        self.builder
            .catalog
            .models()
            .into_iter()
            .filter(move |model| model.vendor == vendor)
            .map(|model| model.name)
    }

    fn fallback(&self, name: &str) -> Option<usize> {
        self.main.candidates().iter().skip(1).position(|model| model.model_id == name)
    }

    fn offer(&self, id: &str, name: Option<String>, model: &Model, source: ModelSource) -> OfferedModel {
        let facts = self.builder.catalog.facts(model.provider, &model.model_id, &model.host);
        let window = facts.is_known.then_some(facts.context_window);
        OfferedModel {
            id: id.to_owned(),
            name: name.unwrap_or_else(|| id.to_owned()),
            model_id: model.model_id.clone(),
            provider: model.provider.name().to_owned(),
            source,
            context_window: model.context_window.map(u64::from).or(window),
            prices: facts.price,
            abilities: if facts.is_known { abilities(&facts) } else { Vec::new() },
        }
    }
}

fn abilities(facts: &ModelFacts) -> Vec<&'static str> {
    let all =
        [("tools", facts.tools), ("images", facts.images), ("pdf", facts.pdf), ("reasoning", facts.reasons)];
    all.into_iter().filter(|(_, has)| *has).map(|(ability, _)| ability).collect()
}

#[async_trait]
impl ModelDirectory for Choices {
    fn find(&self, name: &str) -> Option<ChosenModels> {
        let models = |all: Vec<Model>| {
            let small = all.first().and_then(Model::small_one);
            let mut all = all.iter().map(|model| self.builder.build(model));
            let models = Models::with_fallbacks(all.next()?, all);
            let small = small.map(|small| Models::one(self.builder.build(&small)));
            Some(ChosenModels::Others(AgentModels { models, small, directory: None }))
        };
        if let Some(named) = self.main.named.get(name) {
            return models(named.model.candidates());
        }
        if name == self.main.model_id {
            return Some(ChosenModels::Configured);
        }
        let mut all = self.main.candidates();
        if let Some(place) = self.fallback(name) {
            // The others stand by in their order.
            let chosen = all.remove(place + 1);
            all.insert(0, chosen);
            return models(all);
        }
        *all.first_mut()? = self.main.sibling(name);
        models(all)
    }

    async fn check(&self, name: &str) -> Result<()> {
        let is_name =
            !name.trim().is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control);
        if !is_name {
            return Err(no_such_model(name));
        }
        let main = &self.main;
        let is_configured = || name == main.model_id || self.fallback(name).is_some();
        // All names of an offline model are known, and none of them means another one.
        let is_catalogued =
            || has_free_names(main) && self.builder.catalog.facts(main.provider, name, &main.host).is_known;
        if main.named.contains_key(name) || is_configured() || is_catalogued() {
            return Ok(());
        }
        let listed = self.listed().await;
        // A service that lists nothing may have any model; the first request shows whether it does.
        if listed.iter().any(|model| model.id == name) || listed.is_empty() && has_free_names(main) {
            return Ok(());
        }
        let known = main.named.keys().cloned().chain(listed.iter().map(|model| model.id.clone()));
        let near = nearest(name, known.chain(main.candidates().into_iter().map(|model| model.model_id)));
        let error = no_such_model(name);
        Err(in_words(&near)
            .map_or(error, |nearest| Error::invalid(format!("{}; {nearest}", no_such_model(name)))))
    }
}

#[async_trait]
impl ModelChoices for Choices {
    async fn offered(&self) -> Vec<OfferedModel> {
        let main = &self.main;
        let named =
            main.named.iter().map(|(name, named)| self.offer(name, None, &named.model, ModelSource::Named));
        let mut offered: Vec<OfferedModel> = named.collect();
        for (place, model) in main.candidates().iter().enumerate() {
            let source = if place == 0 { ModelSource::Service } else { ModelSource::Fallback };
            offered.push(self.offer(&model.model_id, None, model, source));
        }
        let listed = self.listed().await;
        let is_new = |offered: &[OfferedModel], id: &str| offered.iter().all(|known| known.id != id);
        for ListedModel { id, name } in listed.iter() {
            if is_new(&offered, id) {
                offered.push(self.offer(id, name.clone(), &main.sibling(id), ModelSource::Service));
            }
        }
        // The table does not know the models of a private server.
        if listed.is_empty() && main.host.trim().is_empty() {
            for id in self.catalogued() {
                if is_new(&offered, &id) {
                    offered.push(self.offer(&id, None, &main.sibling(&id), ModelSource::Catalog));
                }
            }
        }
        offered
    }

    fn current(&self) -> String {
        self.main.model_id.clone()
    }

    async fn check(&self, name: &str) -> Result<()> {
        ModelDirectory::check(self, name).await
    }
}

/// Returns whether a model of any name may exist; the offline ones have a name each.
fn has_free_names(main: &Model) -> bool {
    !matches!(main.provider, Provider::Fake | Provider::Echo)
}

/// Names the nearest ones in a sentence; `None` without any.
pub(crate) fn in_words(near: &[String]) -> Option<String> {
    match near {
        [] => None,
        [one] => Some(format!("the nearest is {one}")),
        several => Some(format!("the nearest are {}", several.join(", "))),
    }
}

/// Returns the names closest to this one, the closest first.
pub(crate) fn nearest(name: &str, known: impl Iterator<Item = String>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<(f64, String)> = known
        .map(|known| (strsim::jaro_winkler(&wanted, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    near.dedup_by(|one, other| one.1 == other.1);
    near.into_iter().take(MAX_NAMED).map(|(_, known)| known).collect()
}
