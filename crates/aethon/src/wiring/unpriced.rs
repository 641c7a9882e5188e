//! The configured models whose price is unknown, so that their calls do not count against the daily budget.

use aethon_agent::Learned;

use super::model::AgentModels;
use crate::prepared::Prepared;

/// The models without a known price while a daily ceiling is set, including those for embedding and transcription.
pub(crate) fn models(prepared: &Prepared) -> Vec<String> {
    if prepared.config.budget.daily_usd <= 0.0 {
        return Vec::new();
    }
    let prices = super::prices::prices(&prepared.config, &prepared.catalog);
    let models = AgentModels::of(prepared, Learned::default()).models;
    // Models on this machine are free unless someone states a price.
    let chat = models.iter().map(|model| model.capabilities()).filter(|model| !model.is_local);
    let chat = chat.map(|model| (model.provider.clone(), model.model.clone()));
    let pair =
        |name: &str| name.split_once('/').map(|(service, model)| (service.to_owned(), model.to_owned()));
    let embedding = super::embedding::service(prepared)
        .filter(|(_, price)| price.is_none())
        .and_then(|(embedder, _)| pair(embedder.model()));
    let transcription = super::transcription::service(&prepared.config).and_then(|service| {
        let listed = super::transcription::listed(&prepared.config, &prepared.catalog, service.model());
        if listed.is_some() { None } else { pair(service.model()) }
    });
    let all = chat.chain(embedding).chain(transcription);
    let is_unpriced = |(provider, model): &(String, String)| prices(provider, model, None).is_none();
    let mut unpriced: Vec<String> = all.filter(is_unpriced).map(|(_, model)| model).collect();
    unpriced.dedup();
    unpriced
}
