//! Text into vectors, for search by meaning.

use async_trait::async_trait;

use crate::error::Result as Stored;
use crate::model::{ModelError, Readiness};

/// A model that turns text into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model, as provider and id. Vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// One vector for each text, in their order and all of one length. Any number of texts may be given; how many go
    /// into one request is the provider's business.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError>;

    /// Whether it could answer now as far as the configuration goes; asks nobody.
    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }
}

/// What stands for a text where the text itself is not kept: a digest of it and of all that its vector depends on
/// besides the model's name.
pub type TextKey = [u8; 32];

/// Vectors that were paid for, kept across restarts. A cache: what is not there is asked for again, and nobody may rely on
/// anything staying.
#[async_trait]
pub trait EmbeddingCache: Send + Sync {
    /// The vectors of this model that are kept for these keys, in their order.
    async fn get(&self, model: &str, keys: &[TextKey]) -> Stored<Vec<Option<Vec<f32>>>>;

    /// Keeps vectors of this model, in place of older ones of the same keys.
    async fn put(&self, model: &str, vectors: Vec<(TextKey, Vec<f32>)>) -> Stored<()>;
}
