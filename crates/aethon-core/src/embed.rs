//! Text into vectors, for search by meaning.

use async_trait::async_trait;

use crate::model::ModelError;

/// A model that turns text into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model, as provider and id. Vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// One vector for each text, in their order and all of one length. Any number of texts may be given; how many go
    /// into one request is the provider's business.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError>;
}
