//! An in-memory vector cache.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::embed::{EmbeddingCache, TextKey};
use crate::error::Result;

/// An in-memory vector cache that forgets nothing.
#[derive(Debug, Default)]
pub struct MemoryEmbeddings(Mutex<BTreeMap<(String, TextKey), Vec<f32>>>);

#[async_trait]
impl EmbeddingCache for MemoryEmbeddings {
    async fn get(&self, model: &str, keys: &[TextKey]) -> Result<Vec<Option<Vec<f32>>>> {
        let vectors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(keys.iter().map(|key| vectors.get(&(model.to_owned(), *key)).cloned()).collect())
    }

    async fn put(&self, model: &str, vectors: Vec<(TextKey, Vec<f32>)>) -> Result<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(vectors.into_iter().map(|(key, vector)| ((model.to_owned(), key), vector)));
        Ok(())
    }
}
