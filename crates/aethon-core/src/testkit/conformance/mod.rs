//! Tests for what all backends of [`Storage`](crate::storage::Storage) have in common.
//!
//! A backend's crate calls [`storage_conformance!`](crate::storage_conformance) with a way to open an empty storage,
//! and gets one test per behaviour. Whatever else a backend does (files, crashes, migrations) is covered by its own
//! tests. A behaviour takes a [`Stage`], is named after what it proves, and is listed in `suite`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(missing_docs, reason = "a behaviour is named after what it proves")]

mod conversations;
mod deliveries;
mod histories;
mod jobs;
mod keeping;
mod ledger;
mod lookups;
mod measurements;
mod memories;
mod owners;
mod records;
mod stage;
mod suite;
mod turns;
mod upkeep;
mod vectors;
mod work;

pub use stage::Stage;
pub use suite::behaviours;
