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

fn sanitize(told: &mut Value) {
    match told {
        Value::Object(parts) => parts.values_mut().for_each(sanitize),
        Value::Number(number) => *told = count(number.as_u64(), number.as_f64()).into(),
        Value::String(text) => {
            if let Ok(number) = text.parse::<f64>() {
                *told = count(text.parse().ok(), Some(number)).into();
            }
        }
        _ => {}
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
    fn counts_of_another_shape_are_ignored() {
        for told in ["{}", r#"{"usage": null}"#, r#"{"usage": []}"#, r#"{"usage": {"sent": {}}}"#] {
            assert_eq!(serde_json::from_str::<Line>(told).unwrap().usage, None, "{told}");
        }
        let inner: Line =
            serde_json::from_str(r#"{"usage": {"parts": {"cached": -1}, "tier": "x"}}"#).unwrap();
        let parts = Some(Parts { cached: INVALID_COUNT });
        assert_eq!(inner.usage, Some(Counts { sent: None, parts }));
    }
}
