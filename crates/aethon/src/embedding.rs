//! A caching embedder, so that each vector is paid for once.
//!
//! Texts seen before are answered from the cache; the others go to the service in one batch, without duplicates, through the
//! meter. Vectors can wait, since search falls back to words, so they stop as early as other background work: at
//! `budget.warn_ratio` of the ceiling. [`Embedder`] does not report token counts, so the booked amount is an estimate on the
//! high side.

use std::collections::HashSet;
use std::sync::Arc;

use aethon_agent::{Ending, Meter, Work};
use aethon_core::embed::{Embedded, Embedder, EmbeddingCache, TextKey};
use aethon_core::ledger::{Price, WorkKind};
use aethon_core::model::{Capabilities, ModelError, ModelErrorKind, Readiness, Usage};
use aethon_providers::TextKeys;
use async_trait::async_trait;

/// How many texts are requested, booked and cached together; a later failure cannot cost these again.
const TOGETHER: usize = 256;

/// The lowest average number of bytes per token, in most languages.
const TOKEN_BYTES: usize = 3;

/// The parts of a cached embedder.
pub(crate) struct Parts {
    pub(crate) service: Arc<dyn Embedder>,
    pub(crate) keys: TextKeys,
    pub(crate) cache: Arc<dyn EmbeddingCache>,
    pub(crate) meter: Meter,
    /// The service's price, if known.
    pub(crate) price: Option<Price>,
}

/// The cached embedder. It reports the service's model.
pub(crate) struct CachedEmbedder(Arc<Parts>);

impl CachedEmbedder {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Fills the empty slots, requesting each text once.
    async fn fill(
        &self,
        texts: &[&str],
        keys: &[TextKey],
        vectors: &mut [Option<Embedded>],
    ) -> Result<(), ModelError> {
        let mut seen = HashSet::new();
        let missing: Vec<(TextKey, String)> = (keys.iter().zip(texts).zip(vectors.iter()))
            .filter(|((key, _), vector)| vector.is_none() && seen.insert(**key))
            .map(|((key, text), _)| (*key, (*text).to_owned()))
            .collect();
        for some in missing.chunks(TOGETHER) {
            let (parts, some) = (self.0.clone(), some.to_vec());
            // A task of its own: the request has been paid for, so its result is cached and booked even if the caller is
            // cancelled meanwhile. The service's time-out bounds it.
            let made = tokio::spawn(async move { parts.make(some).await }).await;
            let made = made.unwrap_or_else(|error| {
                tracing::error!(error = &error as &dyn std::error::Error, "the embedder failed");
                let message = "The embedding failed because of an internal error; see the log.";
                Err(ModelError::new(ModelErrorKind::InvalidRequest, message))
            })?;
            for (key, fresh) in made {
                for (_, place) in keys.iter().zip(&mut *vectors).filter(|(of, _)| **of == key) {
                    *place = Some(fresh.clone());
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Embedder for CachedEmbedder {
    fn model(&self) -> &str {
        self.0.service.model()
    }

    fn readiness(&self) -> Readiness {
        self.0.service.readiness()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.embed_each(texts).await?.into_iter().collect()
    }

    async fn embed_each(&self, texts: &[&str]) -> Result<Vec<Embedded>, ModelError> {
        let keys: Vec<TextKey> = texts.iter().map(|text| self.0.keys.key(text)).collect();
        let kept = self.0.kept(&keys).await;
        let mut vectors: Vec<Option<Embedded>> = kept.into_iter().map(|vector| vector.map(Ok)).collect();
        for _ in 0..2 {
            self.fill(texts, &keys, &mut vectors).await?;
            if let Some(vectors) = all_of_one_length(&vectors) {
                return Ok(vectors);
            }
            // The service now serves another model under the same name, so the cached vectors are useless.
            vectors.fill(None);
        }
        Err(self.0.malformed("vectors of different lengths"))
    }
}

impl Parts {
    /// Looks vectors up in the cache; a failing cache counts as empty.
    async fn kept(&self, keys: &[TextKey]) -> Vec<Option<Vec<f32>>> {
        match self.cache.get(self.service.model(), keys).await {
            Ok(found) if found.len() == keys.len() => found,
            Ok(_) => vec![None; keys.len()],
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "cached vectors could not be read; requesting them from the service");
                vec![None; keys.len()]
            }
        }
    }

    /// Requests vectors from the service, within the budget, and caches them.
    async fn make(&self, texts: Vec<(TextKey, String)>) -> Result<Vec<(TextKey, Embedded)>, ModelError> {
        let input_tokens = estimate(texts.iter().map(|(_, text)| text.as_str()));
        let grant = self.meter.reserve(Work::new(WorkKind::Embedding, input_tokens), &self.model()).await;
        let grant = grant.map_err(|failure| ModelError::new(ModelErrorKind::Quota, failure.message))?;
        let asked: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let made = self.service.embed_each(&asked).await.and_then(|vectors| {
            let is_whole = vectors.len() == asked.len();
            if is_whole { Ok(vectors) } else { Err(self.malformed("not one vector for each text")) }
        });
        let ending = match &made {
            Ok(vectors) if vectors.iter().all(Result::is_err) => Ending::Refused,
            Ok(vectors) => {
                let embedded = asked.iter().zip(vectors).filter(|(_, vector)| vector.is_ok());
                let input_tokens = estimate(embedded.map(|(text, _)| *text));
                Ending::Whole { usage: Usage { input_tokens, ..Usage::default() }, named: None }
            }
            Err(error) if error.kind() == ModelErrorKind::Timeout => Ending::Silent,
            Err(error) if error.kind() == ModelErrorKind::Malformed => Ending::Broken,
            Err(_) => Ending::Refused,
        };
        grant.settle(ending).await;
        let vectors: Vec<_> = texts.iter().map(|(key, _)| *key).zip(made?).collect();
        let embedded = vectors.iter().filter_map(|(key, vector)| Some((*key, vector.as_ref().ok()?.clone())));
        if let Err(error) = self.cache.put(self.service.model(), embedded.collect()).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "vectors could not be cached; they will be requested again");
        }
        Ok(vectors)
    }

    /// The service's model as the meter sees it: one without output tokens.
    fn model(&self) -> Capabilities {
        let name = self.service.model();
        let (provider, model) = name.split_once('/').unwrap_or(("", name));
        Capabilities::new(provider, model).with_sizes(u64::MAX, 0).with_price(self.price)
    }

    fn malformed(&self, what: &str) -> ModelError {
        let message = format!("{} answered with {what}.", self.service.model());
        ModelError::new(ModelErrorKind::Malformed, message)
    }
}

/// Estimates the tokens that the service will count, on the high side.
fn estimate<'t>(texts: impl Iterator<Item = &'t str>) -> u64 {
    texts.map(|text| text.len().div_ceil(TOKEN_BYTES).max(1) as u64).sum()
}

/// Returns the vectors, or why there are none, if all are of the same length.
fn all_of_one_length(vectors: &[Option<Embedded>]) -> Option<Vec<Embedded>> {
    let mut lengths = vectors.iter().flatten().flatten().map(Vec::len);
    let length = lengths.next();
    if lengths.all(|other| Some(other) == length) { vectors.iter().cloned().collect() } else { None }
}

#[cfg(test)]
mod tests;
