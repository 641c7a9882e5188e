//! The storage in memory keeps to the contract that the tests of other crates rely on.

use std::sync::Arc;

use aethon_core::testkit::conformance::Stage;
use aethon_core::testkit::{ManualClock, MemoryStore};

async fn open(clock: Arc<ManualClock>) -> Stage {
    Stage::new(MemoryStore::storage(clock.clone()), clock, ())
}

aethon_core::storage_conformance!(open);
