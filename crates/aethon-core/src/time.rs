//! The text format of timestamps: RFC 3339 in UTC with milliseconds, always of the same length, so that they also sort
//! as text.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::Serializer;

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// Formats a timestamp: `2026-11-20T10:00:00.000Z`.
pub fn text(moment: Timestamp) -> String {
    let mut text = String::with_capacity(24);
    // Writing to a string cannot fail.
    let _ = PRINTER.print_timestamp(&moment, &mut text);
    text
}

/// For `#[serde(serialize_with = "...")]`.
pub fn serialize<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_equally_long() {
        let check = |given: &str, expected: &str| assert_eq!(text(given.parse().unwrap()), expected);
        check("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z");
        check("2026-11-20T10:00:00.08Z", "2026-11-20T10:00:00.080Z");
        check("2026-11-20T10:00:00.975119379Z", "2026-11-20T10:00:00.975Z");
        check("2026-11-20T12:00:00+02:00", "2026-11-20T10:00:00.000Z");
    }
}
