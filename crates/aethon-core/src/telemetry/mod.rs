//! Telemetry: the actions of the program with their duration and outcome, one record per event.
//!
//! Code that does something worth counting hands a [`TelemetryEvent`] to the [`Telemetry`] of the event bus. That never
//! waits: the event is counted for `/metrics` and put into a bounded queue, from which the facade stores it in batches
//! ([`TelemetryLog`]). Events that find the queue full are dropped and counted. Storing, redacting and exporting are up
//! to others; this module has the types, the queue and the arithmetic.

mod counters;
mod event;
mod log;
mod queue;
mod sum;

pub use counters::{BOUNDS, Counters, ModelSum, Series};
pub use event::{MAX_DETAIL, MAX_NAME, ModelFacts, TelemetryEvent, TelemetryKind, TelemetryStatus};
pub use log::{MAX_EVENTS, NoTelemetry, StoredEvent, TelemetryLog, TelemetryQuery};
pub use queue::Telemetry;
pub use sum::{TelemetrySum, UNTIMED, bucket_bounds, bucket_of};
