//! Counters since the program started, in the style of Prometheus: monotonic numbers, and histograms.

use std::collections::BTreeMap;

use super::{MAX_NAME, TelemetryEvent, TelemetryKind, TelemetryStatus};

/// The upper bounds of the histogram buckets, in seconds. Longer durations are in none of them.
pub const BOUNDS: [f64; 16] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// The most series. Names come from models and servers; any further ones are counted together.
const MAX_SERIES: usize = 1_000;

/// The name under which those are counted.
const OTHER: &str = "other";

/// The counters of a running program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    /// Events by kind, name and status.
    pub events: BTreeMap<(TelemetryKind, String, TelemetryStatus), Series>,
    /// Model calls by provider and model.
    pub models: BTreeMap<(String, String), ModelSum>,
}

/// How many times something happened, and how long it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// How many times.
    pub count: u64,
    /// How many times its duration was measured.
    pub timed: u64,
    /// The total duration, in seconds.
    pub seconds: f64,
    /// How many were above the previous bound and at most at this one.
    pub buckets: [u64; BOUNDS.len()],
}

/// The usage of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelSum {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens sent that the provider had cached.
    pub cached_tokens: u64,
    /// The cost in USD.
    pub cost_usd: f64,
}

impl Counters {
    /// Counts an event.
    pub(super) fn count(&mut self, event: &TelemetryEvent) {
        let mut key = (event.kind, event.name.chars().take(MAX_NAME).collect(), event.status);
        if !self.events.contains_key(&key) && self.events.len() >= MAX_SERIES {
            OTHER.clone_into(&mut key.1);
        }
        self.events.entry(key).or_default().count(event.duration);
        if let (TelemetryKind::ModelCall, Some(call)) = (event.kind, &event.call) {
            let mut key = (call.provider.clone(), call.model.clone());
            if !self.models.contains_key(&key) && self.models.len() >= MAX_SERIES {
                key = (OTHER.to_owned(), OTHER.to_owned());
            }
            let sum = self.models.entry(key).or_default();
            sum.input_tokens += call.input_tokens;
            sum.output_tokens += call.output_tokens;
            sum.cached_tokens += call.cached_tokens;
            sum.cost_usd += call.cost_usd;
        }
    }

    /// Returns how many events of this kind had this status.
    pub fn count_of(&self, kind: TelemetryKind, status: TelemetryStatus) -> u64 {
        let events = self.events.iter();
        events.filter(|(key, _)| (key.0, key.2) == (kind, status)).map(|(_, series)| series.count).sum()
    }
}

impl Series {
    fn count(&mut self, duration: Option<f64>) {
        self.count += 1;
        let Some(seconds) = duration else { return };
        self.timed += 1;
        self.seconds += seconds;
        if let Some(place) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[place] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;

    #[test]
    fn endless_names_make_no_endless_series() {
        let mut counters = Counters::default();
        for number in 0..MAX_SERIES * 2 {
            let name = format!("tool-{number}");
            let (kind, status) = (TelemetryKind::ToolCall, TelemetryStatus::Ok);
            let event = TelemetryEvent::new(kind, &name, status, Timestamp::UNIX_EPOCH);
            counters.count(&event.took(Duration::from_millis(30)));
        }
        assert_eq!(counters.events.len(), MAX_SERIES + 1);
        let other = &counters.events[&(TelemetryKind::ToolCall, OTHER.to_owned(), TelemetryStatus::Ok)];
        assert_eq!((other.count, other.buckets[3]), (MAX_SERIES as u64, MAX_SERIES as u64));
        assert_eq!(counters.count_of(TelemetryKind::ToolCall, TelemetryStatus::Ok), MAX_SERIES as u64 * 2);
    }
}
