//! Times as the database keeps them: whole milliseconds since 1970, UTC.

use jiff::Timestamp;

/// A time as it is stored.
pub(crate) fn to_millis(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// A stored time. One that cannot be (the file was edited by hand) becomes 1970 rather than an unreadable session.
pub(crate) fn from_millis(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// So many days in milliseconds.
pub(crate) fn days(days: u32) -> i64 {
    i64::from(days) * 86_400_000
}

/// The day of a stored time, in days since 1970, UTC.
pub(crate) fn day_number(millis: i64) -> i64 {
    millis.div_euclid(days(1))
}

/// The first moment of a day.
pub(crate) fn day_start(number: i64) -> Timestamp {
    from_millis(number.saturating_mul(days(1)))
}
