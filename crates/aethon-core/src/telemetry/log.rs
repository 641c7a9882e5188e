//! Where events are stored and read again.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::event::{TelemetryEvent, TelemetryKind};
use super::sum::TelemetrySum;
use crate::error::Result;

/// How many events a storage keeps; the oldest are dropped. Their sums stay as long as the days are kept.
pub const MAX_EVENTS: u32 = 500_000;

/// A stored event with its number.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TelemetryEvent")]
pub struct StoredEvent {
    /// Its number, which grows; serialised as text, like all ids.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub id: i64,
    /// The event.
    #[serde(flatten)]
    pub event: TelemetryEvent,
}

fn as_text<S: serde::Serializer>(id: &i64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// A query for events, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetryQuery {
    /// The most events to return.
    pub limit: usize,
    /// Only of this kind.
    pub kind: Option<TelemetryKind>,
    /// Only from this moment on.
    pub since: Option<Timestamp>,
    /// Only those with a smaller number, for the next page.
    pub before: Option<i64>,
}

/// Stores events.
#[async_trait]
pub trait TelemetryLog: Send + Sync {
    /// Stores events in this order, and adds them to the sums of their days, in one transaction.
    async fn keep_events(&self, events: Vec<TelemetryEvent>) -> Result<()>;

    /// Returns the events that match a query, newest first.
    async fn events(&self, query: TelemetryQuery) -> Result<Vec<StoredEvent>>;

    /// Returns the sums over these days.
    async fn event_sums(&self, days: RangeInclusive<Date>) -> Result<Vec<TelemetrySum>>;
}

/// Stores nothing, for embedders and tests that need no telemetry.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTelemetry;

#[async_trait]
impl TelemetryLog for NoTelemetry {
    async fn keep_events(&self, _events: Vec<TelemetryEvent>) -> Result<()> {
        Ok(())
    }

    async fn events(&self, _query: TelemetryQuery) -> Result<Vec<StoredEvent>> {
        Ok(Vec::new())
    }

    async fn event_sums(&self, _days: RangeInclusive<Date>) -> Result<Vec<TelemetrySum>> {
        Ok(Vec::new())
    }
}
