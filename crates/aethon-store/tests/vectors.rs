//! The cache of vectors: found again by digest and model, across restarts, and never too many.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::embed::{EmbeddingCache, TextKey};
use aethon_core::storage::{Retention, Upkeep};
use aethon_store::Store;
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
async fn the_least_recently_used_vectors_are_removed_first() {
    let home = Home::new();
    home.store.put("m", (0..150).map(|number| (key(number), vec![1.0])).collect()).await.unwrap();
    home.advance(DAY);
    assert_eq!(home.store.get("m", &[key(0)]).await.unwrap(), [Some(vec![1.0])]);
    home.store.put("m", vec![(key(200), vec![1.0])]).await.unwrap();
    let keep = |vectors| Retention::of_oneshots(30).with_calls(30).with_vectors(vectors);
    assert_eq!(home.store.maintain(keep(151)).await.unwrap().vectors, 0);
    let removed = home.store.maintain(keep(3)).await.unwrap();
    assert_eq!(removed.vectors, 148);
    assert_eq!(kept(&home.store, 201).await, [0, 149, 200]);
    assert_eq!(home.store.maintain(keep(0)).await.unwrap().vectors, 3);
    assert_eq!(home.count("SELECT count(*) FROM vectors"), 0);
}

#[tokio::test]
async fn vector_use_is_recorded_once_a_day() {
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
async fn invalid_vector_bytes_count_as_missing() {
    let home = Home::new();
    home.store.put("m", (0..4).map(|number| (key(number), vec![1.0])).collect()).await.unwrap();
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    for (id, bytes) in [(1, "x''"), (2, "x'00'"), (3, "x'0000c07f'")] {
        let spoil = format!("UPDATE vectors SET vector = {bytes} WHERE id = {id}");
        assert_eq!(connection.execute(&spoil, []).unwrap(), 1);
    }
    assert_eq!(kept(&home.store, 4).await, [3]);
}
