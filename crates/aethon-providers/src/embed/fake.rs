//! Vectors for tests: equal texts have equal vectors, and texts that share words have similar ones.

use aethon_core::embed::Embedder;
use aethon_core::model::ModelError;
use async_trait::async_trait;

const DIMENSIONS: u32 = 64;

/// Counts words into the components of a vector.
pub(super) struct FakeEmbedder {
    name: String,
    dimensions: usize,
}

impl FakeEmbedder {
    pub(super) fn new(name: String, dimensions: Option<u32>) -> Self {
        Self { name, dimensions: dimensions.unwrap_or(DIMENSIONS).clamp(1, 4096) as usize }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; self.dimensions];
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for word in words {
            let place = (hash(&word.to_lowercase()) % self.dimensions as u64) as usize;
            if let Some(number) = vector.get_mut(place) {
                *number += 1.0;
            }
        }
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length == 0.0 {
            vector.fill(1.0 / (self.dimensions as f32).sqrt());
        } else {
            vector.iter_mut().for_each(|number| *number /= length);
        }
        vector
    }
}

/// FNV-1a, which is stable across releases.
fn hash(word: &str) -> u64 {
    word.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[async_trait]
impl Embedder for FakeEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_that_share_words_are_near() {
        let fake = FakeEmbedder::new("fake/x".into(), None);
        let texts = ["The cat sleeps.", "a cat sleeps", "stock prices fell", ""];
        let vectors = fake.embed(&texts).await.unwrap();
        let near = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum::<f32>();
        assert!(near(0, 1) > near(0, 2) + 0.3);
        assert!((near(0, 0) - 1.0).abs() < 1e-5 && (near(3, 3) - 1.0).abs() < 1e-5);
        assert_eq!(vectors, fake.embed(&texts).await.unwrap());
    }
}
