//! How long a service asks to wait.

use std::time::{Duration, SystemTime};

use aethon_core::clock::{Clock, SystemClock};
use ureq::http::HeaderMap;

/// Longer waits are not credible.
const MAX_DURATION: Duration = Duration::from_secs(30 * 24 * 3600);

/// Reads `retry-after-ms`, and `retry-after` in seconds or as a date.
pub(super) fn of(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name| text(name)?.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
    let limited = |seconds: f64| Duration::from_secs_f64(seconds.min(MAX_DURATION.as_secs_f64()));
    if let Some(milliseconds) = number("retry-after-ms") {
        return Some(limited(milliseconds / 1000.0));
    }
    if let Some(seconds) = number("retry-after") {
        return Some(limited(seconds));
    }
    let at = httpdate::parse_http_date(text("retry-after")?).ok()?;
    // Relative to the service's own clock if it sends it, because ours may be wrong.
    let now = text("date").and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(|| SystemTime::from(SystemClock.now()));
    Some(at.duration_since(now).unwrap_or_default().min(MAX_DURATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        let check = |lines: &[(&'static str, &str)], expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(of(&headers), expected.map(Duration::from_millis), "{lines:?}");
        };
        check(&[("retry-after", "7")], Some(7_000));
        check(&[("retry-after", "0.5")], Some(500));
        check(&[("retry-after", "20"), ("retry-after-ms", "1500")], Some(1_500));
        let date = ("date", "Fri, 20 Nov 2026 10:00:00 GMT");
        check(&[date, ("retry-after", "Fri, 20 Nov 2026 10:01:30 GMT")], Some(90_000));
        check(&[date, ("retry-after", "Fri, 20 Nov 2026 09:00:00 GMT")], Some(0));
        check(&[("retry-after", "Fri, 20 Nov 2020 09:00:00 GMT")], Some(0));
        check(&[("retry-after", "1e300")], Some(30 * 24 * 3600 * 1000));
        check(&[("retry-after", "soon")], None);
        check(&[("retry-after", "-3")], None);
        check(&[("retry-after", "NaN")], None);
        check(&[], None);
    }
}
