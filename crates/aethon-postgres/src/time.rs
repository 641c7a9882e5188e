//! Times as the database stores them: whole milliseconds since 1970, UTC.

use jiff::Timestamp;

/// Converts a time for storage.
pub(crate) fn to_millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// Reads a stored time. An impossible one (the file was edited by hand) becomes 1970 rather than making a session
/// unreadable.
pub(crate) fn from_millis(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns a number of days in milliseconds.
pub(crate) fn days(days: u32) -> i64 {
    i64::from(days) * 86_400_000
}

/// Returns the day of a stored time, in days since 1970, UTC.
pub(crate) fn day_number(millis: i64) -> i64 {
    millis.div_euclid(days(1))
}

/// Returns the first moment of a day.
pub(crate) fn day_start(number: i64) -> Timestamp {
    from_millis(number.saturating_mul(days(1)))
}
