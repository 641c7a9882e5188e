//! An embedder over HTTP: sends batches, receives vectors, and validates them.

use std::sync::Arc;

use aethon_core::embed::Embedder;
use aethon_core::model::ModelError;
use async_trait::async_trait;
use serde_json::Value;

use super::batch::batches;
use super::form::Form;
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
        Self { name, service, client, form, dimensions, signer }
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

    fn malformed(&self, why: &str) -> ModelError {
        classify::malformed(&self.service, why)
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        // Sequentially, since parallel requests would only hit the service's rate limit.
        for batch in batches(texts, self.form.limits()) {
            vectors.extend(self.batch(batch).await.map_err(|error| in_section(error, EMBEDDING))?);
        }
        let length = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != length) {
            return Err(in_section(self.malformed("vectors of different lengths"), EMBEDDING));
        }
        Ok(vectors)
    }
}
