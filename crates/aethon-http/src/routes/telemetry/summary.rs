//! Summaries of many events, from the sums that the storage keeps: counts, rates, means and percentiles.
//!
//! A percentile is interpolated within its bucket of durations, so it is accurate to within a tenth.

use std::collections::BTreeMap;

use aethon_core::telemetry::{TelemetryKind, TelemetryStatus, TelemetrySum, UNTIMED, bucket_bounds};
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

/// The channels on which no person writes: jobs, delegations and work of several turns.
const OWN_CHANNELS: [&str; 3] = ["agent", "schedule", "work"];

/// How many names a summary lists.
const MAX_NAMES: usize = 50;

/// The summary of all stored days, and of today.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct TelemetrySummary {
    /// All stored days.
    #[serde(flatten)]
    pub(super) all: Summary,
    /// Today, in UTC.
    pub(super) today: Summary,
    /// The tools, the busiest first.
    pub(super) tools: Vec<NamedSummary>,
    /// The models, the busiest first.
    pub(super) models: Vec<NamedSummary>,
}

impl TelemetrySummary {
    /// Builds it from the sums of all days, and of today.
    pub(super) fn of(all: &[TelemetrySum], today: &[TelemetrySum]) -> Self {
        Self {
            all: Summary::of(all),
            today: Summary::of(today),
            tools: by_name(all, TelemetryKind::ToolCall),
            models: by_name(all, TelemetryKind::ModelCall),
        }
    }
}

/// The summary of some days. Durations are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TelemetrySums")]
pub(super) struct Summary {
    /// Tool calls that ran; refused ones are `denied_tool_calls`.
    pub(super) total_tool_calls: u64,
    /// Model calls.
    pub(super) total_model_calls: u64,
    /// Turns that ended.
    pub(super) total_turns: u64,
    /// Messages from people, webhooks and programs that were answered or failed: turns that Aethon did not begin by
    /// itself.
    pub(super) total_messages: u64,
    /// All failures: calls, deliveries, job runs, channels, and logged errors. A turn that fails because its model does
    /// counts once, as the model's failure.
    pub(super) error_count: u64,
    /// The share of calls to tools and models, deliveries and job runs that failed; 0 if there were none.
    pub(super) error_rate: f64,
    /// Tool calls that a rule or a person refused.
    pub(super) denied_tool_calls: u64,
    #[serde(flatten)]
    tools: ToolTimes,
    #[serde(flatten)]
    models: ModelTimes,
    #[serde(flatten)]
    turns: TurnTimes,
    /// Tokens sent to models.
    pub(super) input_tokens: u64,
    /// Tokens received from models.
    pub(super) output_tokens: u64,
    /// The cost of models, in USD.
    #[serde(serialize_with = "aethon_core::ledger::serialize_usd")]
    pub(super) cost_usd: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
struct ToolTimes {
    avg_tool_duration: f64,
    p50_tool_duration: f64,
    p95_tool_duration: f64,
    tool_success_rate: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
struct ModelTimes {
    avg_model_duration: f64,
    p50_model_duration: f64,
    p95_model_duration: f64,
    model_success_rate: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
struct TurnTimes {
    avg_turn_duration: f64,
    p50_turn_duration: f64,
    p95_turn_duration: f64,
    turn_success_rate: f64,
}

/// The summary of one tool or one model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct NamedSummary {
    /// Its name.
    pub(super) name: String,
    /// How many times it was called.
    pub(super) calls: u64,
    /// How many times that failed.
    pub(super) errors: u64,
    /// How many times it was refused.
    pub(super) denied: u64,
    /// The mean duration of a call, in seconds.
    pub(super) avg_duration: f64,
    /// The median duration.
    pub(super) p50_duration: f64,
    /// The 95th percentile of the duration.
    pub(super) p95_duration: f64,
}

impl Summary {
    fn of(sums: &[TelemetrySum]) -> Self {
        let total = |kind| Totals::of(sums.iter().filter(|sum| sum.kind == kind));
        let (tools, models, turns) =
            (total(TelemetryKind::ToolCall), total(TelemetryKind::ModelCall), total(TelemetryKind::Turn));
        let failed =
            |sum: &&TelemetrySum| sum.status == TelemetryStatus::Error && sum.kind != TelemetryKind::Turn;
        let calls = || sums.iter().filter(|sum| sum.kind == TelemetryKind::ModelCall);
        Self {
            total_tool_calls: tools.calls(),
            total_model_calls: models.calls(),
            total_turns: turns.calls(),
            total_messages: messages(sums),
            error_count: sums.iter().filter(failed).map(|sum| sum.count).sum(),
            error_rate: error_rate(sums),
            denied_tool_calls: tools.denied,
            tools: ToolTimes {
                avg_tool_duration: tools.mean(),
                p50_tool_duration: tools.percentile(0.5),
                p95_tool_duration: tools.percentile(0.95),
                tool_success_rate: tools.success_rate(),
            },
            models: ModelTimes {
                avg_model_duration: models.mean(),
                p50_model_duration: models.percentile(0.5),
                p95_model_duration: models.percentile(0.95),
                model_success_rate: models.success_rate(),
            },
            turns: TurnTimes {
                avg_turn_duration: turns.mean(),
                p50_turn_duration: turns.percentile(0.5),
                p95_turn_duration: turns.percentile(0.95),
                turn_success_rate: turns.success_rate(),
            },
            input_tokens: calls().map(|sum| sum.input_tokens).sum(),
            output_tokens: calls().map(|sum| sum.output_tokens).sum(),
            // The sum of nothing is -0.0.
            cost_usd: 0.0 + calls().map(|sum| sum.cost_usd).sum::<f64>(),
        }
    }
}

/// One day in short.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TelemetryDay")]
pub(super) struct DaySummary {
    /// The day, in UTC.
    pub(super) day: Date,
    /// As in [`Summary`].
    pub(super) total_messages: u64,
    /// As in [`Summary`].
    pub(super) error_rate: f64,
}

impl DaySummary {
    /// Builds it from the sums of this day.
    pub(super) fn of(day: Date, sums: &[TelemetrySum]) -> Self {
        Self { day, total_messages: messages(sums), error_rate: error_rate(sums) }
    }
}

fn messages(sums: &[TelemetrySum]) -> u64 {
    let is_message =
        |sum: &&TelemetrySum| sum.kind == TelemetryKind::Turn && !OWN_CHANNELS.contains(&sum.name.as_str());
    Totals::of(sums.iter().filter(is_message)).calls()
}

/// Returns the share of errors. Turns are left out, because they fail along with the calls in them.
fn error_rate(sums: &[TelemetrySum]) -> f64 {
    use TelemetryKind::{Delivery, Job, ModelCall, ToolCall};
    let is_attempt = |sum: &&TelemetrySum| matches!(sum.kind, ToolCall | ModelCall | Delivery | Job);
    let attempts = Totals::of(sums.iter().filter(is_attempt));
    // Exactly zero, without the rounding error of the subtraction.
    if attempts.failed == 0 { 0.0 } else { 1.0 - attempts.success_rate() }
}

/// Returns the names of one kind, the busiest first.
fn by_name(sums: &[TelemetrySum], kind: TelemetryKind) -> Vec<NamedSummary> {
    let mut names: BTreeMap<&str, Totals> = BTreeMap::new();
    for sum in sums.iter().filter(|sum| sum.kind == kind) {
        names.entry(&sum.name).or_default().add(sum);
    }
    let mut named: Vec<NamedSummary> = names
        .into_iter()
        .map(|(name, totals)| NamedSummary {
            name: name.to_owned(),
            calls: totals.calls(),
            errors: totals.failed,
            denied: totals.denied,
            avg_duration: totals.mean(),
            p50_duration: totals.percentile(0.5),
            p95_duration: totals.percentile(0.95),
        })
        .collect();
    named.sort_by(|one, other| other.calls.cmp(&one.calls).then_with(|| one.name.cmp(&other.name)));
    named.truncate(MAX_NAMES);
    named
}

/// The totals of one kind of event.
#[derive(Default)]
struct Totals {
    good: u64,
    failed: u64,
    stopped: u64,
    denied: u64,
    timed: u64,
    seconds: f64,
    buckets: BTreeMap<i64, u64>,
}

impl Totals {
    fn of<'s>(sums: impl Iterator<Item = &'s TelemetrySum>) -> Self {
        sums.fold(Self::default(), |mut totals, sum| {
            totals.add(sum);
            totals
        })
    }

    fn add(&mut self, sum: &TelemetrySum) {
        match sum.status {
            TelemetryStatus::Ok => self.good += sum.count,
            TelemetryStatus::Error => self.failed += sum.count,
            TelemetryStatus::Stopped => self.stopped += sum.count,
            // What never ran has no meaningful duration.
            TelemetryStatus::Denied | TelemetryStatus::Skipped => {
                self.denied += sum.count;
                return;
            }
        }
        if sum.bucket != UNTIMED {
            self.timed += sum.count;
            self.seconds += sum.seconds;
            *self.buckets.entry(sum.bucket).or_default() += sum.count;
        }
    }

    fn calls(&self) -> u64 {
        self.good + self.failed + self.stopped
    }

    fn mean(&self) -> f64 {
        if self.timed == 0 { 0.0 } else { rounded(self.seconds / self.timed as f64) }
    }

    /// Returns the share of successes among events that were not stopped; 1 without events.
    fn success_rate(&self) -> f64 {
        let judged = self.good + self.failed;
        if judged == 0 { 1.0 } else { self.good as f64 / judged as f64 }
    }

    fn percentile(&self, share: f64) -> f64 {
        let wanted = share * self.timed as f64;
        let mut before = 0;
        for (&bucket, &count) in &self.buckets {
            if before as f64 + count as f64 >= wanted {
                let (lower, upper) = bucket_bounds(bucket);
                let place = (wanted - before as f64) / count as f64;
                return rounded(lower + (upper - lower) * place.clamp(0.0, 1.0));
            }
            before += count;
        }
        0.0
    }
}

/// Rounds to microseconds; anything finer is meaningless.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use aethon_core::telemetry::bucket_of;

    use super::*;

    fn sum(kind: TelemetryKind, name: &str, status: TelemetryStatus, duration: f64) -> TelemetrySum {
        TelemetrySum {
            kind,
            name: name.to_owned(),
            status,
            bucket: bucket_of(Some(duration)),
            count: 1,
            seconds: duration,
            input_tokens: 10,
            output_tokens: 1,
            cost_usd: 0.5,
        }
    }

    #[test]
    fn percentiles_are_right_to_within_a_tenth() {
        use TelemetryKind::ToolCall;
        let sums: Vec<TelemetrySum> =
            (1..=1000).map(|ms| sum(ToolCall, "t", TelemetryStatus::Ok, f64::from(ms) / 1000.0)).collect();
        let summary = Summary::of(&sums);
        let near = |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 0.1, "{found} {exact}");
        near(summary.tools.p50_tool_duration, 0.5);
        near(summary.tools.p95_tool_duration, 0.95);
        near(summary.tools.avg_tool_duration, 0.5005);
        assert_eq!((summary.total_tool_calls, summary.error_count), (1000, 0));
    }

    #[test]
    fn a_failing_turn_is_one_error_and_a_refusal_is_none() {
        use {TelemetryKind as Kind, TelemetryStatus as Status};
        let sums = [
            sum(Kind::Turn, "webchat", Status::Error, 1.0),
            sum(Kind::ModelCall, "m", Status::Error, 1.0),
            sum(Kind::ModelCall, "m", Status::Ok, 1.0),
            sum(Kind::ToolCall, "shell", Status::Denied, 0.0),
        ];
        let summary = TelemetrySummary::of(&sums, &[]);
        assert_eq!((summary.all.error_count, summary.all.total_tool_calls), (1, 0));
        assert_eq!(summary.all.denied_tool_calls, 1);
        assert_eq!(summary.all.models.model_success_rate, 0.5);
        assert_eq!((summary.all.input_tokens, summary.all.cost_usd), (20, 1.0));
        assert_eq!(summary.today.tools.tool_success_rate, 1.0);
        assert_eq!((summary.models[0].calls, summary.models[0].errors), (2, 1));
    }
}
