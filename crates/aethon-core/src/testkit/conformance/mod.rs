//! What every backend of [`Storage`](crate::storage::Storage) has in common, as tests.
//!
//! A backend's crate calls [`storage_conformance!`](crate::storage_conformance) with a way to open an empty storage, and
//! gets one test a behaviour. What a backend does besides (files, crashes, migrations) it proves itself. A behaviour takes
//! a [`Stage`], is named after what it proves, and stands in the list of `suite`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(missing_docs, reason = "a behaviour is named after what it proves")]

mod conversations;
mod deliveries;
mod jobs;
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
