//! The time zones of jobs, by their names.

use jiff::tz::TimeZone;

/// The name of the machine's own zone where it has no IANA name: `TZ` may hold a rule such as `CET-1CEST`, which names
/// no place.
const LOCAL: &str = "local";

/// Returns the time zone with this IANA name; for `local` or without a name, the machine's own. The error explains the problem
/// with the name.
pub fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        None | Some(LOCAL) => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name)
            .map_err(|_| format!("{name:?} is no known time zone; use an IANA name such as Europe/Berlin")),
    }
}

/// Returns the name of a time zone, from which [`zone`] finds it again.
pub fn zone_name(zone: &TimeZone) -> &str {
    if zone.is_unknown() {
        return "UTC";
    }
    zone.iana_name().unwrap_or(LOCAL)
}

/// Returns a warning about the machine's own time zone, if there is a reason for one.
pub fn zone_warning(zone: &TimeZone) -> Option<String> {
    let remedy = "set TZ to an IANA name such as Europe/Berlin, or give each job a timezone";
    if zone.is_unknown() {
        return Some(format!("the machine's time zone is not known, so times and jobs are in UTC; {remedy}"));
    }
    zone.iana_name().is_none().then(|| {
        format!(
            "the machine's time zone is a rule without a place (TZ), which jobs follow as \"local\"; {remedy}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_found_again_by_its_name() {
        let rule = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (zone, name, is_odd) in [
            (TimeZone::get("Europe/Berlin").unwrap(), "Europe/Berlin", false),
            (TimeZone::UTC, "UTC", false),
            (rule, "local", true),
            (TimeZone::unknown(), "UTC", true),
        ] {
            assert_eq!((zone_name(&zone), zone_warning(&zone).is_some()), (name, is_odd), "{zone:?}");
            assert!(self::zone(Some(name)).is_ok());
        }
        assert_eq!(self::zone(Some("local")).unwrap(), TimeZone::system());
        assert!(self::zone(Some("Mars/Base")).is_err());
    }
}
