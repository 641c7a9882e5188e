//! The storage in memory keeps to the contract that the tests of other crates rely on.

use std::sync::Arc;

use aethon_core::testkit::conformance::Stage;
use aethon_core::testkit::{ManualClock, MemoryStore};

async fn open(clock: Arc<ManualClock>) -> Stage {
    let store = MemoryStore::new(clock.clone());
    let beside = store.beside();
    Stage::new([store, beside].map(MemoryStore::into_storage), clock, ())
}

aethon_core::storage_conformance!(open);
