//! `[memory.embedding]` to the embedder behind it, and what it costs.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_config::schema::{Embedding, EmbeddingProvider as Name};
use aethon_core::embed::Embedder;
use aethon_core::ledger::{Ledger, Price};
use aethon_providers::{AwsEnvironment, Options, Provider, TextKeys};
use aethon_store::Store;

use crate::builder::Prepared;
use crate::embedding::{CachedEmbedder, Parts};

/// The service itself and its price, where one is configured: nothing is kept, and nothing written down.
pub(crate) fn service(config: &Config, aws: &AwsEnvironment) -> Option<(Arc<dyn Embedder>, Option<Price>)> {
    let embedding = &config.memory.embedding;
    let provider = provider(embedding.provider)?;
    let embedder = aethon_providers::embedder(options(embedding, provider, aws), embedding.dimensions);
    let model = embedder.model().split_once('/').map_or("", |(_, model)| model);
    let price = super::prices::prices(&config.budget)(provider.name(), model);
    Some((embedder, price))
}

/// The service behind the cache and the ledger.
pub(crate) fn embedder(prepared: &Prepared, store: &Store) -> Option<Arc<dyn Embedder>> {
    let config = &prepared.config;
    let (service, price) = service(config, &prepared.aws)?;
    let embedding = &config.memory.embedding;
    let ledger: Arc<dyn Ledger> = Arc::new(store.clone());
    Some(Arc::new(CachedEmbedder::new(Parts {
        service,
        keys: TextKeys::new(&embedding.host, embedding.dimensions),
        cache: Arc::new(store.clone()),
        ledger,
        price,
        budget: super::http::budget(config),
        clock: prepared.clock(),
        bus: prepared.bus.clone(),
    })))
}

fn options(embedding: &Embedding, provider: Provider, aws: &AwsEnvironment) -> Options {
    Options {
        api_key: embedding.key().clone(),
        key_variable: embedding.provider.key_variable().unwrap_or_default().to_owned(),
        host: embedding.host.clone(),
        allow_http: embedding.allow_http,
        aws: aws.clone(),
        timeout: Duration::from_secs(embedding.timeout_seconds),
        ..Options::new(provider, &embedding.model_id)
    }
}

fn provider(name: Name) -> Option<Provider> {
    Some(match name {
        Name::None => return None,
        Name::OpenAi => Provider::OpenAi,
        Name::Ollama => Provider::Ollama,
        Name::Bedrock => Provider::Bedrock,
        Name::Gemini => Provider::Gemini,
        Name::LiteLlm => Provider::LiteLlm,
        Name::Mistral => Provider::Mistral,
        Name::Fake => Provider::Fake,
    })
}
