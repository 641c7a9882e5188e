//! Builds the embedder from `[memory.embedding]`, with its price.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::Meter;
use aethon_config::schema::Embedding;
use aethon_core::embed::Embedder;
use aethon_core::ledger::Price;
use aethon_core::storage::Storage;
use aethon_providers::{AwsEnvironment, Options, Provider, TextKeys};

use crate::embedding::{CachedEmbedder, Parts};
use crate::prepared::Prepared;

/// The bare service and its price, if configured: without cache and without booking.
pub(crate) fn service(prepared: &Prepared) -> Option<(Arc<dyn Embedder>, Option<Price>)> {
    let embedding = &prepared.config.memory.embedding;
    let provider = embedding.provider?;
    let mut options = options(embedding, provider, &prepared.aws);
    // The same account of the same gateway.
    let model = &prepared.config.model;
    if model.provider == provider && model.host.trim() == embedding.host.trim() {
        options.connection.headers = super::model_builder::headers(model);
    }
    let is_local = aethon_providers::is_local(&options);
    let embedder = aethon_providers::embedder(options, embedding.dimensions);
    let model = embedder.model().split_once('/').map_or("", |(_, model)| model);
    let price = super::prices::prices(&prepared.config, &prepared.catalog)(provider.name(), model, None);
    // A service on this machine is free unless someone states a price.
    Some((embedder, price.or(is_local.then_some(Price::FREE))))
}

/// The service behind the cache and the meter.
pub(crate) fn embedder(prepared: &Prepared, storage: &Storage, meter: Meter) -> Option<Arc<dyn Embedder>> {
    let config = &prepared.config;
    let (service, price) = service(prepared)?;
    let embedding = &config.memory.embedding;
    Some(Arc::new(CachedEmbedder::new(Parts {
        service,
        keys: TextKeys::new(&embedding.host, embedding.dimensions),
        cache: storage.embeddings.clone(),
        meter,
        price,
    })))
}

fn options(embedding: &Embedding, provider: Provider, aws: &AwsEnvironment) -> Options {
    let mut options = Options::new(provider, &embedding.model_id);
    options.api_key = embedding.key().clone();
    options.connection.key_remark = embedding.key_remark().map(str::to_owned);
    options.host.clone_from(&embedding.host);
    options.connection.allow_http = embedding.allow_http;
    options.aws = aws.clone();
    options.connection.timeout = Some(Duration::from_secs(embedding.timeout_seconds));
    options
}
