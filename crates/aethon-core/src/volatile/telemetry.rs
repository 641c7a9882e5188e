//! The in-memory store of measurements.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use async_trait::async_trait;
use jiff::civil::Date;

use super::store::MemoryStore;
use crate::error::Result;
use crate::telemetry::{
    StoredEvent, TelemetryEvent, TelemetryKind, TelemetryLog, TelemetryQuery, TelemetrySum, bucket_of,
};
use crate::usage::day_of;

#[async_trait]
impl TelemetryLog for MemoryStore {
    async fn keep_events(&self, events: Vec<TelemetryEvent>) -> Result<()> {
        let mut tables = self.enter("keep_events")?;
        for event in events {
            let id = tables.next_number();
            tables.noted.telemetry.push(StoredEvent { id, event });
        }
        Ok(())
    }

    async fn events(&self, query: TelemetryQuery) -> Result<Vec<StoredEvent>> {
        let tables = self.enter("events")?;
        let is_wanted = |stored: &&StoredEvent| {
            query.kind.is_none_or(|kind| stored.event.kind == kind)
                && query.since.is_none_or(|since| stored.event.timestamp >= since)
                && query.before.is_none_or(|before| stored.id < before)
        };
        Ok(tables.noted.telemetry.iter().rev().filter(is_wanted).take(query.limit).cloned().collect())
    }

    async fn event_sums(&self, days: RangeInclusive<Date>) -> Result<Vec<TelemetrySum>> {
        let tables = self.enter("event_sums")?;
        let mut sums = BTreeMap::new();
        let events = tables.noted.telemetry.iter().map(|stored| &stored.event);
        for event in events.filter(|event| days.contains(&day_of(event.timestamp))) {
            let bucket = bucket_of(event.duration);
            let key = (event.kind, event.name.clone(), event.status, bucket);
            let sum = sums.entry(key).or_insert_with(|| TelemetrySum {
                kind: event.kind,
                name: event.name.clone(),
                status: event.status,
                bucket,
                count: 0,
                seconds: 0.0,
                input_tokens: 0,
                output_tokens: 0,
                cost_usd: 0.0,
            });
            sum.count += 1;
            sum.seconds += event.duration.unwrap_or_default();
            if let (TelemetryKind::ModelCall, Some(call)) = (event.kind, &event.call) {
                sum.input_tokens += call.input_tokens;
                sum.output_tokens += call.output_tokens;
                sum.cost_usd += call.cost_usd;
            }
        }
        Ok(sums.into_values().collect())
    }
}
