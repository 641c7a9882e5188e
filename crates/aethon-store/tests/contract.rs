//! The store keeps to the contract that all storages share.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use aethon_core::storage::Storage;
use aethon_core::testkit::ManualClock;
use aethon_core::testkit::conformance::Stage;
use aethon_store::{Options, Store};

async fn open(clock: Arc<ManualClock>) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let storage = || {
        let options = Options::default().with(|options| options.clock = clock.clone());
        Storage::of(Arc::new(Store::open(&folder.path().join("aethon.db"), options).unwrap()))
    };
    Stage::new([storage(), storage()], clock.clone(), folder)
}

aethon_core::storage_conformance!(open);
