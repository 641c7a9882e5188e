//! An embedder over HTTP: sends batches, receives vectors, and validates them.

use std::sync::Arc;

use aethon_core::embed::{Embedded, Embedder, is_about_texts};
use aethon_core::model::{ModelError, ModelErrorKind};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::batch::{Limits, batches};
use super::form::Form;
use super::learned_limit;
use crate::bedrock::Signer;
use crate::classify;
use crate::remote::exchange;
use crate::section::{EMBEDDING, in_section};
use crate::service::Service;
use crate::transport::Client;

/// The most that is read of a response.
const MAX_LEN: usize = 64 * 1024 * 1024;

/// The embedder.
pub(super) struct RemoteEmbedder {
    name: String,
    service: Arc<Service>,
    client: Client,
    form: Form,
    dimensions: Option<u32>,
    signer: Option<Signer>,
    /// Where the learnt limit belongs: the address and the model.
    place: String,
}

impl RemoteEmbedder {
    pub(super) fn new(
        name: String,
        service: Arc<Service>,
        form: Form,
        dimensions: Option<u32>,
        signer: Option<Signer>,
    ) -> Self {
        let client = Client::new(service.timeout, service.endpoint.is_loopback);
        let place = format!("{} {}", service.endpoint.base, service.model);
        Self { name, service, client, form, dimensions, signer, place }
    }

    async fn batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut outgoing = self.form.build_request(&self.service, texts, self.dimensions);
        if let Some(signer) = &self.signer {
            outgoing = signer.sign(outgoing).await?;
        }
        let mut incoming = exchange(&self.client, &self.service, outgoing).await?;
        let mut body = Vec::new();
        while let Some(piece) = incoming.body.next().await {
            let piece = piece.map_err(|failure| classify::failure(&self.service, &failure))?;
            if body.len() + piece.len() > MAX_LEN {
                return Err(self.malformed("an answer with vectors is too long"));
            }
            body.extend_from_slice(&piece);
        }
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| self.malformed(&format!("an answer with vectors: {error}")))?;
        let vectors = self.form.read(&answer).ok_or_else(|| self.malformed("an answer without vectors"))?;
        if vectors.len() == texts.len() {
            Ok(vectors)
        } else {
            Err(self.malformed(&format!("{} vectors for {} texts", vectors.len(), texts.len())))
        }
    }

    /// Embeds texts that fit one request as far as is known. What is refused is halved, down to a single text.
    fn halving<'a>(
        &'a self,
        texts: &'a [&'a str],
        made: &'a mut Vec<Embedded>,
    ) -> BoxFuture<'a, Result<(), ModelError>> {
        Box::pin(async move {
            if let Some(error) = hopeless(made) {
                made.extend(texts.iter().map(|_| Err(error.clone())));
                return Ok(());
            }
            let error = match self.batch(texts).await {
                Ok(vectors) => {
                    made.extend(vectors.into_iter().map(Ok));
                    return Ok(());
                }
                Err(error) if is_about_texts(&error) => error,
                Err(error) => return Err(error),
            };
            if texts.len() <= 1 {
                made.push(Err(describe(error, &self.service)));
                return Ok(());
            }
            let (from, half) = (made.len(), texts.len().div_ceil(2));
            for part in texts.chunks(half) {
                for part in part.chunks(self.limit(half)) {
                    self.halving(part, made).await?;
                }
            }
            // Otherwise it was a text that is refused, and not their number.
            if made[from..].iter().all(Result::is_ok) {
                learned_limit::keep(&self.place, half);
            }
            Ok(())
        })
    }

    /// Returns how many texts one request may have: this many, or what the service was seen to take.
    fn limit(&self, most: usize) -> usize {
        learned_limit::of(&self.place).unwrap_or(most).min(most).max(1)
    }

    fn malformed(&self, why: &str) -> ModelError {
        classify::malformed(&self.service, why)
    }
}

/// After so many refused texts without a vector, the service refuses all of them, and is not asked about the rest.
const MAX_REFUSED: usize = 8;

/// Returns the last refusal if the service has only refused.
fn hopeless(made: &[Embedded]) -> Option<ModelError> {
    let is_refused = made.len() >= MAX_REFUSED && made.iter().all(Result::is_err);
    made.last().filter(|_| is_refused)?.as_ref().err().cloned()
}

/// Describes the refusal of a single text; it is no conversation that is too long.
fn describe(error: ModelError, service: &Service) -> ModelError {
    if error.kind() != ModelErrorKind::ContextLength {
        return error;
    }
    let title = service.title();
    let sentence = match error.status() {
        Some(413) => format!(
            "A text is too large for {title} to embed (413), or for a proxy in front of it; it is found by its words."
        ),
        _ => format!("A text is too long for {} to embed; it is found by its words.", service.model),
    };
    let described = ModelError::new(error.kind(), sentence)
        .with_detail(error.detail().unwrap_or_default())
        .with_request_id(error.request_id().map(str::to_owned));
    match error.status() {
        Some(status) => described.with_status(status),
        None => described,
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.embed_each(texts).await?.into_iter().collect()
    }

    async fn embed_each(&self, texts: &[&str]) -> Result<Vec<Embedded>, ModelError> {
        let mut made: Vec<Embedded> = Vec::with_capacity(texts.len());
        let limits = self.form.limits();
        let limits = Limits { texts: self.limit(limits.texts), ..limits };
        // Sequentially, since parallel requests would only hit the service's rate limit.
        'all: for batch in batches(texts, limits) {
            for batch in batch.chunks(self.limit(limits.texts)) {
                if let Err(error) = self.halving(batch, &mut made).await {
                    // What was made is paid for.
                    if made.iter().all(Result::is_err) {
                        return Err(in_section(error, EMBEDDING));
                    }
                    made.resize(texts.len(), Err(error));
                    break 'all;
                }
            }
        }
        let mut lengths = made.iter().flatten().map(Vec::len);
        let length = lengths.next();
        if lengths.any(|other| Some(other) != length) {
            return Err(in_section(self.malformed("vectors of different lengths"), EMBEDDING));
        }
        Ok(made.into_iter().map(|vector| vector.map_err(|error| in_section(error, EMBEDDING))).collect())
    }
}
