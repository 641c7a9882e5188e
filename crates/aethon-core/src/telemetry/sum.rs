//! The sums that a storage keeps of events.
//!
//! They are a few numbers per day for each kind, name, status and duration bucket, so that a summary of a month reads
//! hundreds of rows, not millions. Each bucket is a fifth longer than the one before.

use super::event::{TelemetryKind, TelemetryStatus};

/// The ratio of the bounds of neighbouring buckets.
const GROWTH: f64 = 1.2;

/// The upper bound of the first bucket, in seconds.
const FIRST: f64 = 0.001;

/// The last bucket: durations of some hours and more.
const LAST: i64 = 96;

/// The bucket of events without a duration.
pub const UNTIMED: i64 = -1;

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

/// Returns the bounds of a bucket, in seconds.
pub fn bucket_bounds(bucket: i64) -> (f64, f64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_has_a_bucket_that_holds_it() {
        for seconds in [0.0, 0.0005, 0.001, 0.00101, 0.5, 1.0, 59.9, 3600.0, 20_000.0] {
            let bucket = bucket_of(Some(seconds));
            let (lower, upper) = bucket_bounds(bucket);
            assert!((lower * 0.999..=upper * 1.001).contains(&seconds), "{seconds}: {bucket}");
        }
        assert_eq!(bucket_of(Some(f64::INFINITY)), LAST);
        assert_eq!(bucket_of(Some(-1.0)), 0);
        assert_eq!(bucket_of(Some(f64::NAN)), 0);
        assert_eq!(bucket_of(None), UNTIMED);
    }
}
