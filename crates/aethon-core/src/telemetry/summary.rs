//! Summaries of many events: counts, rates, means and percentiles.
//!
//! A storage keeps a few numbers per day for each kind, name, status and duration bucket, so that a summary of a month
//! reads hundreds of rows, not millions. Each bucket is a fifth longer than the one before; a percentile is
//! interpolated within its bucket, so it is accurate to within a tenth.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use super::{TelemetryKind, TelemetryStatus};

/// The ratio of the bounds of neighbouring buckets.
const GROWTH: f64 = 1.2;

/// The upper bound of the first bucket, in seconds.
const FIRST: f64 = 0.001;

/// The last bucket: durations of some hours and more.
const LAST: i64 = 96;

/// The bucket of events without a duration.
const UNTIMED: i64 = -1;

/// The channels on which no person writes: jobs, delegations and work of several turns.
const OWN_CHANNELS: [&str; 3] = ["agent", "schedule", "work"];

/// How many names a summary lists.
const MAX_NAMES: usize = 50;

/// Returns the bucket of a duration in seconds.
pub fn bucket_of(duration: Option<f64>) -> i64 {
    let Some(seconds) = duration else { return UNTIMED };
    if seconds.is_nan() || seconds <= FIRST {
        return 0;
    }
    // Far within the range of the type; infinite durations go to the last bucket.
    let place = ((seconds / FIRST).ln() / GROWTH.ln()).ceil();
    if place >= LAST as f64 { LAST } else { place as i64 }
}

/// The bounds of a bucket, in seconds.
fn bounds(bucket: i64) -> (f64, f64) {
    let upper = |bucket: i64| FIRST * GROWTH.powi(i32::try_from(bucket).unwrap_or(i32::MAX));
    if bucket <= 0 { (0.0, FIRST) } else { (upper(bucket - 1), upper(bucket)) }
}

/// The sums of events that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySum {
    /// Their kind.
    pub kind: TelemetryKind,
    /// Their subject.
    pub name: String,
    /// Their status.
    pub status: TelemetryStatus,
    /// The bucket of their durations.
    pub bucket: i64,
    /// How many there were.
    pub count: u64,
    /// Their total duration, in seconds.
    pub seconds: f64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Their cost, in USD.
    pub cost_usd: f64,
}

/// The summary of all stored days, and of today.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TelemetrySummary {
    /// All stored days.
    #[serde(flatten)]
    pub all: Summary,
    /// Today, in UTC.
    pub today: Summary,
    /// The tools, the busiest first.
    pub tools: Vec<NamedSummary>,
    /// The models, the busiest first.
    pub models: Vec<NamedSummary>,
}

impl TelemetrySummary {
    /// Builds it from the sums of all days, and of today.
    pub fn of(all: &[TelemetrySum], today: &[TelemetrySum]) -> Self {
        Self {
            all: Summary::of(all),
            today: Summary::of(today),
            tools: by_name(all, TelemetryKind::ToolCall),
            models: by_name(all, TelemetryKind::ModelCall),
        }
    }
}

/// The summary of some days. Durations are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Tool calls that ran; refused ones are `denied_tool_calls`.
    pub total_tool_calls: u64,
    /// Model calls.
    pub total_model_calls: u64,
    /// Turns that ended.
    pub total_turns: u64,
    /// Messages from people, webhooks and programs that were answered or failed: turns that Aethon did not begin by
    /// itself.
    pub total_messages: u64,
    /// All failures: calls, deliveries, job runs, channels, and logged errors. A turn that fails because its model does
    /// counts once, as the model's failure.
    pub error_count: u64,
    /// The share of calls to tools and models, deliveries and job runs that failed; 0 if there were none.
    pub error_rate: f64,
    /// Tool calls that a rule or a person refused.
    pub denied_tool_calls: u64,
    #[serde(flatten)]
    tools: ToolTimes,
    #[serde(flatten)]
    models: ModelTimes,
    #[serde(flatten)]
    turns: TurnTimes,
    /// Tokens sent to models.
    pub input_tokens: u64,
    /// Tokens received from models.
    pub output_tokens: u64,
    /// The cost of models, in USD.
    #[serde(serialize_with = "crate::ledger::serialize_usd")]
    pub cost_usd: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct ToolTimes {
    avg_tool_duration: f64,
    p50_tool_duration: f64,
    p95_tool_duration: f64,
    tool_success_rate: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct ModelTimes {
    avg_model_duration: f64,
    p50_model_duration: f64,
    p95_model_duration: f64,
    model_success_rate: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct TurnTimes {
    avg_turn_duration: f64,
    p50_turn_duration: f64,
    p95_turn_duration: f64,
    turn_success_rate: f64,
}

/// The summary of one tool or one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedSummary {
    /// Its name.
    pub name: String,
    /// How many times it was called.
    pub calls: u64,
    /// How many times that failed.
    pub errors: u64,
    /// How many times it was refused.
    pub denied: u64,
    /// The mean duration of a call, in seconds.
    pub avg_duration: f64,
    /// The median duration.
    pub p50_duration: f64,
    /// The 95th percentile of the duration.
    pub p95_duration: f64,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DaySummary {
    /// The day, in UTC.
    pub day: Date,
    /// As in [`Summary`].
    pub total_messages: u64,
    /// As in [`Summary`].
    pub error_rate: f64,
}

impl DaySummary {
    /// Builds it from the sums of this day.
    pub fn of(day: Date, sums: &[TelemetrySum]) -> Self {
        Self { day, total_messages: messages(sums), error_rate: error_rate(sums) }
    }
}

fn messages(sums: &[TelemetrySum]) -> u64 {
    let is_message =
        |sum: &&TelemetrySum| sum.kind == TelemetryKind::Turn && !OWN_CHANNELS.contains(&sum.name.as_str());
    Totals::of(sums.iter().filter(is_message)).calls()
}

/// Turns are left out, because they fail along with the calls in them.
fn error_rate(sums: &[TelemetrySum]) -> f64 {
    use TelemetryKind::{Delivery, Job, ModelCall, ToolCall};
    let is_attempt = |sum: &&TelemetrySum| matches!(sum.kind, ToolCall | ModelCall | Delivery | Job);
    let attempts = Totals::of(sums.iter().filter(is_attempt));
    // Exactly zero, without the rounding error of the subtraction.
    if attempts.failed == 0 { 0.0 } else { 1.0 - attempts.success_rate() }
}

/// The names of one kind, the busiest first.
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

    /// The share of successes among events that were not stopped; 1 without events.
    fn success_rate(&self) -> f64 {
        let judged = self.good + self.failed;
        if judged == 0 { 1.0 } else { self.good as f64 / judged as f64 }
    }

    fn percentile(&self, share: f64) -> f64 {
        let wanted = share * self.timed as f64;
        let mut before = 0;
        for (&bucket, &count) in &self.buckets {
            if before as f64 + count as f64 >= wanted {
                let (lower, upper) = bounds(bucket);
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
    fn every_duration_has_a_bucket_that_holds_it() {
        for seconds in [0.0, 0.0005, 0.001, 0.00101, 0.5, 1.0, 59.9, 3600.0, 20_000.0] {
            let bucket = bucket_of(Some(seconds));
            let (lower, upper) = bounds(bucket);
            assert!((lower * 0.999..=upper * 1.001).contains(&seconds), "{seconds}: {bucket}");
        }
        assert_eq!(bucket_of(Some(f64::INFINITY)), LAST);
        assert_eq!(bucket_of(Some(-1.0)), 0);
        assert_eq!(bucket_of(Some(f64::NAN)), 0);
        assert_eq!(bucket_of(None), UNTIMED);
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
