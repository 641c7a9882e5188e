//! The configured models whose price is unknown, so that their calls do not count against the daily budget.

use std::collections::BTreeSet;
use std::sync::Arc;

use aethon_core::ledger::Price;
use aethon_core::model::ModelProvider;

use super::model_builder::ModelBuilder;
use crate::prepared::Prepared;

/// A model whose price matters.
struct PricedModel {
    provider: String,
    model: String,
    /// The price that its service states.
    told: Option<Price>,
}

/// The models without a known price while a daily ceiling is set, including those for embedding and transcription. If
/// nothing else knows a price, a service that states prices, such as a proxy, is queried.
pub(crate) async fn models(prepared: &Prepared) -> Vec<String> {
    if prepared.config.budget.daily_usd <= 0.0 {
        return Vec::new();
    }
    let prices = super::prices::prices(&prepared.config, &prepared.catalog);
    let is_unpriced = |priced: &PricedModel| prices(&priced.provider, &priced.model, priced.told).is_none();
    let mut all = Vec::new();
    // Models on this machine are free unless someone states a price.
    let own = prepared.source.parts.model.clone();
    let builder = ModelBuilder::of(prepared, Vec::new());
    let configured = || prepared.config.model.all().iter().map(|model| builder.build(model)).collect();
    let models: Vec<Arc<dyn ModelProvider>> = own.map_or_else(configured, |own| vec![own]);
    for model in &models {
        if model.capabilities().is_local {
            continue;
        }
        let now = || {
            let capabilities = model.capabilities();
            let (provider, name) = (capabilities.provider.clone(), capabilities.model.clone());
            PricedModel { provider, model: name, told: capabilities.price }
        };
        let mut priced = now();
        if is_unpriced(&priced) {
            // If the query fails, the chat does not learn the price either.
            let _ = model.learn().await;
            priced = now();
        }
        all.push(priced);
    }
    let named = |name: &str| {
        let (provider, model) = name.split_once('/')?;
        Some(PricedModel { provider: provider.to_owned(), model: model.to_owned(), told: None })
    };
    let embedding = super::embedding::service(prepared).filter(|(_, price)| price.is_none());
    all.extend(embedding.and_then(|(embedder, _)| named(embedder.model())));
    all.extend(super::transcription::service(&prepared.config).and_then(|service| {
        let listed = super::transcription::listed(&prepared.config, &prepared.catalog, service.model());
        if listed.is_some() { None } else { named(service.model()) }
    }));
    let mut seen = BTreeSet::new();
    let unpriced = all.into_iter().filter(is_unpriced).map(|priced| priced.model);
    unpriced.filter(|model| seen.insert(model.clone())).collect()
}
