//! The text format of timestamps: RFC 3339 in UTC with milliseconds, always of the same length, so that they also sort
//! as text; and durations in words.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::Serializer;

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// The longest text: a year before Christ has a sign and six digits.
const MAX_LEN: usize = "-002026-11-20T10:00:00.000Z".len();

/// Formats a timestamp: `2026-11-20T10:00:00.000Z`.
pub fn text(moment: Timestamp) -> String {
    Text::of(moment).as_str().to_owned()
}

/// Formats a duration in whole seconds: `7 s`, `2 min 5 s`, `1 h 3 min`.
pub fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Cuts a time to milliseconds, the precision of every time that is stored or compared.
pub fn to_millisecond(moment: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(moment.as_millisecond()).unwrap_or(moment)
}

/// For `#[serde(serialize_with = "...")]`.
pub fn serialize<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(Text::of(*moment).as_str())
}

/// The same for a time that may be missing; it becomes `null`.
pub fn serialize_optional<S: Serializer>(
    moment: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => serialize(moment, serializer),
        None => serializer.serialize_none(),
    }
}

/// A text that needs no allocation. The printer gives a `String` far more room than it fills.
struct Text {
    bytes: [u8; MAX_LEN],
    length: usize,
}

impl Text {
    fn of(moment: Timestamp) -> Self {
        let mut text = Self { bytes: [0; MAX_LEN], length: 0 };
        // There is room for every timestamp.
        let _ = PRINTER.print_timestamp(&moment, &mut text);
        text
    }

    fn as_str(&self) -> &str {
        // Only whole strings are ever written.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl jiff::fmt::Write for &mut Text {
    fn write_str(&mut self, part: &str) -> Result<(), jiff::Error> {
        let end = self.length + part.len();
        let room = self.bytes.get_mut(self.length..end);
        room.ok_or_else(|| jiff::Error::from_args(format_args!("the text is too long")))?
            .copy_from_slice(part.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};

    #[test]
    fn amounts_of_time_are_readable() {
        let words = [3, 185, 7_260].map(|seconds| in_words(Duration::from_secs(seconds)));
        assert_eq!(words, ["3 s", "3 min 5 s", "2 h 1 min"]);
    }

    #[test]
    fn a_time_loses_what_is_finer_than_a_millisecond() {
        let check = |given: &str, expected: &str| {
            assert_eq!(to_millisecond(given.parse().unwrap()).to_string(), expected, "{given}");
        };
        check("2026-11-20T10:00:00.150999Z", "2026-11-20T10:00:00.15Z");
        check("2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z");
        let now = SystemClock.now();
        assert_eq!(now, to_millisecond(now), "the machine's clock has that precision");
    }

    #[test]
    fn moments_are_equally_long() {
        let check = |given: &str, expected: &str| assert_eq!(text(given.parse().unwrap()), expected);
        check("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z");
        check("2026-11-20T10:00:00.08Z", "2026-11-20T10:00:00.080Z");
        check("2026-11-20T10:00:00.975119379Z", "2026-11-20T10:00:00.975Z");
        check("2026-11-20T12:00:00+02:00", "2026-11-20T10:00:00.000Z");
        check("-009999-01-02T01:59:59Z", "-009999-01-02T01:59:59.000Z");
        assert_eq!(text(Timestamp::MAX).len(), 24);
        assert_eq!(text(Timestamp::MIN).len(), MAX_LEN);
    }
}
