//! Token counts from services, read so that an impossible figure does not spoil a response.
//!
//! A count that is negative, fractional or not a number becomes [`INVALID_COUNT`]: the meter reports that
//! once and books the estimate instead. A complete response is neither discarded for it nor paid for twice.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// More tokens than any request can have.
pub(crate) const INVALID_COUNT: u64 = u64::MAX;

/// Reads counts by name; returns `None` if the value has another shape.
pub(crate) fn counts<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let mut told = Value::deserialize(from)?;
    sanitize(&mut told);
    Ok(serde_json::from_value(told).ok())
}

/// Replaces a count by a newer one, unless that is a zero where tokens were counted before.
pub(crate) fn or_newer(count: &mut Option<u64>, newer: Option<u64>) {
    if newer.is_some_and(|newer| newer > 0 || count.is_none()) {
        *count = newer;
    }
}

/// Returns the output of a response whose total exceeds its parts: some services count thoughts in the total only.
pub(crate) fn beyond(total: Option<u64>, input: Option<u64>, output: Option<u64>) -> Option<u64> {
    let known = |count: &u64| *count != INVALID_COUNT;
    let rest = total.filter(known).zip(input.filter(known)).map(|(total, input)| total.saturating_sub(input));
    match (rest, output) {
        (Some(_), Some(INVALID_COUNT)) | (None, _) => output,
        (Some(rest), output) => Some(rest.max(output.unwrap_or(0))),
    }
}

/// Returns a count that is part of another one: never more than that, and nothing if it is impossible.
pub(crate) fn within(part: Option<u64>, whole: u64) -> u64 {
    part.filter(|tokens| *tokens != INVALID_COUNT).unwrap_or(0).min(whole)
}

fn sanitize(told: &mut Value) {
    match told {
        // An amount of money is no count.
        Value::Object(parts) => {
            parts.iter_mut().filter(|(name, _)| !name.contains("cost")).for_each(|(_, part)| sanitize(part));
        }
        Value::Number(number) => *told = count(number.as_u64(), number.as_f64()).into(),
        Value::String(text) => {
            let text = text.trim();
            *told = match text.parse::<f64>() {
                Ok(number) => count(text.parse().ok(), Some(number)).into(),
                Err(_) => Value::Null,
            };
        }
        // Lists, and flags such as `is_byok`.
        Value::Array(_) | Value::Bool(_) => *told = Value::Null,
        Value::Null => {}
    }
}

/// A whole number may be written as `12.0`.
fn count(whole: Option<u64>, number: Option<f64>) -> u64 {
    let is_whole = |number: &f64| (0.0..1e15).contains(number) && number.fract() <= 0.0;
    whole.or(number.filter(is_whole).map(|number| number as u64)).unwrap_or(INVALID_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Line {
        #[serde(default, deserialize_with = "counts")]
        usage: Option<Counts>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Counts {
        sent: Option<u64>,
        parts: Option<Parts>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Parts {
        cached: u64,
    }

    #[test]
    fn invalid_counts_are_marked_as_invalid() {
        let check = |told: &str, expected: Option<u64>| {
            let line: Line = serde_json::from_str(&format!(r#"{{"usage": {{"sent": {told}}}}}"#)).unwrap();
            assert_eq!(line.usage.and_then(|usage| usage.sent), expected, "{told}");
        };
        check("12", Some(12));
        check("12.0", Some(12));
        check("\"12\"", Some(12));
        check("18446744073709551615", Some(INVALID_COUNT));
        check("null", None);
        for told in ["-1", "-0.5", "0.5", "1e300", "99999999999999999999", "\"NaN\"", "\"-3\""] {
            check(told, Some(INVALID_COUNT));
        }
    }

    #[test]
    fn output_is_what_the_total_has_beyond_the_input() {
        let check = |total, input, output, expected| assert_eq!(beyond(total, input, output), expected);
        check(Some(135), Some(32), Some(9), Some(103));
        check(Some(41), Some(32), Some(9), Some(9));
        check(Some(32), Some(32), Some(9), Some(9));
        check(Some(135), Some(32), None, Some(103));
        check(Some(135), None, Some(9), Some(9));
        check(Some(INVALID_COUNT), Some(32), Some(9), Some(9));
        check(Some(135), Some(INVALID_COUNT), Some(9), Some(9));
        check(None, Some(32), None, None);
    }

    #[test]
    fn counts_of_another_shape_are_ignored() {
        for told in ["{}", r#"{"usage": null}"#, r#"{"usage": []}"#, r#"{"usage": "x"}"#] {
            assert_eq!(serde_json::from_str::<Line>(told).unwrap().usage, None, "{told}");
        }
        let inner: Line =
            serde_json::from_str(r#"{"usage": {"parts": {"cached": -1}, "tier": "x"}}"#).unwrap();
        let parts = Some(Parts { cached: INVALID_COUNT });
        assert_eq!(inner.usage, Some(Counts { sent: None, parts }));
    }
}
