//! Embeddings: text turned into vectors, for search by meaning.

use async_trait::async_trait;

use crate::error::Result as Stored;
use crate::model::{ModelError, ModelErrorKind, Readiness};

/// A model that turns text into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the model, as provider and id. Vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// Returns one vector per text, in order and all of the same length. Takes any number of texts; how many go into
    /// one request is up to the provider.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError>;

    /// Returns a vector or a failure for each text, in order, so that a text that the service refuses costs only itself.
    /// An error of the whole means that nothing was embedded.
    async fn embed_each(&self, texts: &[&str]) -> Result<Vec<Embedded>, ModelError> {
        Ok(self.embed(texts).await?.into_iter().map(Ok).collect())
    }

    /// Returns whether it could answer now, judging by the configuration alone.
    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }
}

/// The vector of one text, or why there is none.
pub type Embedded = Result<Vec<f32>, ModelError>;

/// Returns whether a failure is about the texts themselves, so that fewer or other ones may be embedded.
pub fn is_about_texts(error: &ModelError) -> bool {
    match error.kind() {
        ModelErrorKind::ContextLength | ModelErrorKind::Refused => true,
        ModelErrorKind::InvalidRequest => matches!(error.status(), Some(400 | 413 | 422)),
        _ => false,
    }
}

/// Stands for a text that is not itself stored: a digest of the text and of everything its vector depends on besides
/// the model's name.
pub type TextKey = [u8; 32];

/// A persistent cache of vectors that were paid for. Missing vectors are requested again, and no caller may rely on an
/// entry staying.
#[async_trait]
pub trait EmbeddingCache: Send + Sync {
    /// Returns this model's cached vectors for these keys, in order.
    async fn get(&self, model: &str, keys: &[TextKey]) -> Stored<Vec<Option<Vec<f32>>>>;

    /// Stores vectors of this model, replacing older ones with the same keys.
    async fn put(&self, model: &str, vectors: Vec<(TextKey, Vec<f32>)>) -> Stored<()>;
}
