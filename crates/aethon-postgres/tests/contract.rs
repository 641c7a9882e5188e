//! The store keeps to the contract that all storages share.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use aethon_core::storage::Storage;
use aethon_core::testkit::ManualClock;
use aethon_core::testkit::conformance::Stage;
use aethon_postgres::{Options, Store, testkit};

async fn open(clock: Arc<ManualClock>) -> Stage {
    let url = testkit::database().await;
    let mut storages = Vec::new();
    for _ in 0..2 {
        let options = Options::default().with(|options| options.clock = clock.clone());
        storages.push(Storage::of(Arc::new(Store::open(&url, options).await.unwrap())));
    }
    let [one, other] = storages.try_into().unwrap_or_else(|_| panic!("two storages"));
    Stage::new([one, other], clock.clone(), ())
}

aethon_core::storage_conformance!(open);
