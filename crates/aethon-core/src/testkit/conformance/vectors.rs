//! Vectors: looked up by model and key.

use super::stage::*;
use crate::embed::TextKey;

fn key(number: u8) -> TextKey {
    [number; 32]
}

pub async fn a_vector_is_found_again_by_its_model_and_key(stage: Stage) {
    let exact = vec![0.1, -2.5e-7, f32::MAX, f32::MIN_POSITIVE];
    stage.storage.embeddings.put("m", vec![(key(1), exact.clone()), (key(2), vec![2.0])]).await.unwrap();
    stage.storage.embeddings.put("other", vec![(key(1), vec![9.0])]).await.unwrap();
    stage.storage.embeddings.put("m", vec![(key(2), vec![3.0])]).await.unwrap();
    let keys = [key(2), key(3), key(1), key(2)];
    let expected = [Some(vec![3.0]), None, Some(exact), Some(vec![3.0])];
    assert_eq!(stage.storage.embeddings.get("m", &keys).await.unwrap(), expected);
    assert_eq!(
        stage.storage.embeddings.get("other", &[key(1), key(2)]).await.unwrap(),
        [Some(vec![9.0]), None]
    );
    assert!(stage.storage.embeddings.get("m", &[]).await.unwrap().is_empty());
}

pub async fn many_vectors_are_kept_at_once(stage: Stage) {
    let vectors: Vec<_> = (0..200).map(|number| (key(number), vec![f32::from(number); 64])).collect();
    stage.storage.embeddings.put("m", vectors.clone()).await.unwrap();
    let (keys, vectors): (Vec<_>, Vec<_>) = vectors.into_iter().unzip();
    let found = stage.storage.embeddings.get("m", &keys).await.unwrap();
    assert_eq!(found, vectors.into_iter().map(Some).collect::<Vec<_>>());
}
