//! The cache of vectors: found again by digest and model, across restarts, and never too many.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::embed::{EmbeddingCache, TextKey};
use aethon_store::{Keep, Store};
use common::*;

const DAY: i64 = 86_400;

fn key(number: u8) -> TextKey {
    [number; 32]
}

/// Which of the first `count` keys are kept.
async fn kept(store: &Store, count: u8) -> Vec<u8> {
    let keys: Vec<TextKey> = (0..count).map(key).collect();
    let found = store.get("m", &keys).await.unwrap();
    (0..count).zip(found).filter_map(|(number, vector)| vector.map(|_| number)).collect()
}

#[tokio::test]
async fn a_vector_is_found_again_by_its_model_and_key() {
    let mut home = Home::new();
    let exact = vec![0.1, -2.5e-7, f32::MAX, f32::MIN_POSITIVE];
    home.store.put("m", vec![(key(1), exact.clone()), (key(2), vec![2.0])]).await.unwrap();
    home.store.put("other", vec![(key(1), vec![9.0])]).await.unwrap();
    home.store.put("m", vec![(key(2), vec![3.0])]).await.unwrap();
    home.reopen().await;
    let keys = [key(2), key(3), key(1), key(2)];
    let expected = [Some(vec![3.0]), None, Some(exact), Some(vec![3.0])];
    assert_eq!(home.store.get("m", &keys).await.unwrap(), expected);
    assert_eq!(home.store.get("other", &[key(1), key(2)]).await.unwrap(), [Some(vec![9.0]), None]);
    assert!(home.store.get("m", &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn many_vectors_are_kept_at_once() {
    let home = Home::new();
    let vectors: Vec<_> = (0..200).map(|number| (key(number), vec![f32::from(number); 64])).collect();
    home.store.put("m", vectors.clone()).await.unwrap();
    let (keys, vectors): (Vec<_>, Vec<_>) = vectors.into_iter().unzip();
    let found = home.store.get("m", &keys).await.unwrap();
    assert_eq!(found, vectors.into_iter().map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_least_recently_used_go_when_there_are_too_many() {
    let home = Home::new();
    home.store.put("m", (0..150).map(|number| (key(number), vec![1.0])).collect()).await.unwrap();
    home.advance(DAY);
    assert_eq!(home.store.get("m", &[key(0)]).await.unwrap(), [Some(vec![1.0])]);
    home.store.put("m", vec![(key(200), vec![1.0])]).await.unwrap();
    let keep = |vectors| Keep { oneshots: 30, calls: 30, vectors };
    assert_eq!(home.store.maintain(keep(151)).await.unwrap().vectors, 0);
    let removed = home.store.maintain(keep(3)).await.unwrap();
    assert_eq!(removed.vectors, 148);
    assert_eq!(kept(&home.store, 201).await, [0, 149, 200]);
    assert_eq!(home.store.maintain(keep(0)).await.unwrap().vectors, 3);
    assert_eq!(home.count("SELECT count(*) FROM vectors"), 0);
}

#[tokio::test]
async fn a_use_is_noted_once_a_day() {
    let home = Home::new();
    home.store.put("m", vec![(key(1), vec![1.0])]).await.unwrap();
    let noted = || home.count("SELECT used_on FROM vectors");
    let first = noted();
    home.advance(DAY);
    kept(&home.store, 2).await;
    home.store.close().await;
    assert_eq!(noted(), first + 1);
}

#[tokio::test]
async fn bytes_that_are_no_vector_are_not_there() {
    let home = Home::new();
    home.store.put("m", (0..4).map(|number| (key(number), vec![1.0])).collect()).await.unwrap();
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    for (id, bytes) in [(1, "x''"), (2, "x'00'"), (3, "x'0000c07f'")] {
        let spoil = format!("UPDATE vectors SET vector = {bytes} WHERE id = {id}");
        assert_eq!(connection.execute(&spoil, []).unwrap(), 1);
    }
    assert_eq!(kept(&home.store, 4).await, [3]);
}
