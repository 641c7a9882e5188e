//! Cron expressions: five fields, and when they are next due in a time zone.
//!
//! A time that daylight saving skips is moved to the end of the gap; a time that occurs twice counts the first time.
//! That holds for every expression, so a clock change never loses or duplicates a run. If day and weekday are both
//! restricted, either one suffices; a field that begins with `*` does not count as restricted, as in the crontabs of
//! Debian and Red Hat.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};
use serde::{Deserialize, Serialize};

use crate::words::parsed_text;

/// How many days ahead to look; an expression that does not match by then never does. A leap day on a certain weekday
/// comes every 28 years, and every 40 across the turn of most centuries.
const HORIZON: usize = 41 * 366;

/// A cron expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cron {
    text: String,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a match of either day or weekday suffices.
    is_either: bool,
}

/// The expression is invalid: a sentence that names the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidCron(String);

impl Cron {
    /// Parses an expression: five fields, or `@daily` and the like.
    pub fn parse(text: &str) -> Result<Self, InvalidCron> {
        let text = text.trim();
        let expression = match text.strip_prefix('@') {
            Some(word) => nickname(word)?,
            None => text,
        };
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let &[minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(InvalidCron(format!(
                "{text:?} has {} fields; write five (minute, hour, day, month, weekday) such as \"0 8 * * 1-5\", or @daily",
                fields.len()
            )));
        };
        let weekdays = WEEKDAY.read(weekday)?;
        Ok(Self {
            text: text.to_owned(),
            minutes: MINUTE.read(minute)?,
            hours: HOUR.read(hour)?,
            days: DAY.read(day)?,
            months: MONTH.read(month)?,
            // 7 is Sunday too.
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            is_either: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    /// Returns the expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the first time after this one; `None` if there is none.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let first = after.to_zoned(zone.clone()).date();
        let mut date = first;
        for _ in 0..HORIZON {
            if self.has_day(date) {
                let found = self.times(date).map(|time| moment(time, zone)).find(|time| *time > after);
                if found.is_some() {
                    return found;
                }
            }
            date = date.checked_add(Span::new().days(1)).ok()?;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let has = |set: u64, number: i8| set >> number & 1 == 1;
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        has(self.months, date.month()) && if self.is_either { day || weekday } else { day && weekday }
    }

    /// The times within a day, in order.
    fn times(&self, date: Date) -> impl Iterator<Item = DateTime> {
        numbers(self.hours)
            .flat_map(move |hour| numbers(self.minutes).map(move |minute| date.at(hour, minute, 0, 0)))
    }
}

parsed_text!(shown Cron, InvalidCron);

/// The numbers in a set.
fn numbers(set: u64) -> impl Iterator<Item = i8> {
    (0..60).filter(move |number| set >> number & 1 == 1)
}

/// Converts a local time to a timestamp.
fn moment(time: DateTime, zone: &TimeZone) -> Timestamp {
    let ambiguous = zone.to_ambiguous_timestamp(time);
    let compatible = || ambiguous.compatible().unwrap_or(Timestamp::MAX);
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => compatible(),
        // The gap ends with the last change up to the time that would have been, which is the change itself for the
        // first minute of the gap. `preceding` leaves out its argument.
        AmbiguousOffset::Gap { .. } => {
            let later = compatible();
            let just_after = later.checked_add(SignedDuration::from_nanos(1)).unwrap_or(later);
            let change = zone.preceding(just_after).next().map(|change| change.timestamp());
            change.unwrap_or(later)
        }
    }
}

fn nickname(word: &str) -> Result<&'static str, InvalidCron> {
    Ok(match word.to_ascii_lowercase().as_str() {
        "hourly" => "0 * * * *",
        "daily" | "midnight" => "0 0 * * *",
        "weekly" => "0 0 * * 0",
        "monthly" => "0 0 1 * *",
        "yearly" | "annually" => "0 0 1 1 *",
        _ => {
            return Err(InvalidCron(format!(
                "\"@{word}\" is not known; use @hourly, @daily, @weekly, @monthly or @yearly"
            )));
        }
    })
}

/// A field: its name, its range, and names for its numbers.
struct Field {
    name: &'static str,
    from: u32,
    to: u32,
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", from: 0, to: 59, names: &[] };
const HOUR: Field = Field { name: "hour", from: 0, to: 23, names: &[] };
const DAY: Field = Field { name: "day", from: 1, to: 31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    from: 1,
    to: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAY: Field =
    Field { name: "weekday", from: 0, to: 7, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Field {
    /// The numbers of a field, as a bit set.
    fn read(&self, text: &str) -> Result<u64, InvalidCron> {
        let mut set = 0;
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(self.step(step)?)),
                None => (part, None),
            };
            let (from, to) = match (range, range.split_once('-')) {
                ("*", _) => (self.from, self.to - u32::from(self.to == WEEKDAY.to)),
                (_, Some((from, to))) => self.range(part, from, to)?,
                // `5/10` continues to the end.
                (one, None) => {
                    let number = self.number(one)?;
                    (number, if step.is_some() { self.to - u32::from(self.to == WEEKDAY.to) } else { number })
                }
            };
            let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
            set |= (from..=to).step_by(step).fold(0, |set, number| set | 1 << number);
        }
        Ok(set)
    }

    fn number(&self, text: &str) -> Result<u32, InvalidCron> {
        let lower = text.to_ascii_lowercase();
        let named = self.names.iter().zip(self.from..).find(|(name, _)| **name == lower);
        let number = named.map(|(_, number)| number);
        // Signs are not allowed in numbers here.
        let digits = || text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number.or_else(digits).filter(|number| (self.from..=self.to).contains(number)).ok_or_else(|| {
            let names = if self.names.is_empty() { "" } else { ", or a name such as " };
            let example = self.names.get(1).copied().unwrap_or_default();
            self.wrong(text, &format!("use a number from {} to {}{names}{example}", self.from, self.to))
        })
    }

    /// The ends of a range. One of weekdays may end with Sunday (`sat-sun`, `5-7`); one from Sunday to Sunday is that day
    /// alone (`sun-sun`, `0-sun`, `7-7`), except `0-7`, which is every day as in other crons.
    fn range(&self, part: &str, from: &str, to: &str) -> Result<(u32, u32), InvalidCron> {
        let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
        let has_name = is_name(from) || is_name(to);
        let (first, last) = (self.number(from)?, self.number(to)?);
        if self.to != WEEKDAY.to {
            return if first <= last { Ok((first, last)) } else { Err(self.reversed(part, from, to)) };
        }
        let is_sunday = |day: u32| matches!(day, 0 | 7);
        match (first, last) {
            (first, last) if is_sunday(first) && is_sunday(last) && (has_name || first == last) => Ok((0, 0)),
            (first, 0) if is_name(to) => Ok((first, 7)),
            (first, last) if first <= last => Ok((first, last)),
            _ => Err(self.reversed(part, from, to)),
        }
    }

    /// Refuses a range that ends before it begins, and says how to write what it may mean.
    fn reversed(&self, part: &str, from: &str, to: &str) -> InvalidCron {
        let name = |number: u32| {
            let index = usize::try_from(number - self.from).unwrap_or(usize::MAX);
            let is_named = !from.bytes().all(|byte| byte.is_ascii_digit());
            self.names
                .get(index)
                .filter(|_| is_named)
                .map_or_else(|| number.to_string(), |name| (*name).to_owned())
        };
        let (first, last) = (name(self.from), name(self.to - u32::from(self.to == WEEKDAY.to)));
        let instead = match (self.number(from), self.number(to)) {
            (Ok(7), _) if self.to == WEEKDAY.to => format!("0-{to}"),
            (_, Ok(0)) if self.to == WEEKDAY.to => format!("{from}-7"),
            _ => format!("{from}-{last},{first}-{to}"),
        };
        self.wrong(
            part,
            &format!(
                "the range ends before it begins; write {instead:?} for one that continues past the end"
            ),
        )
    }

    fn step(&self, text: &str) -> Result<u32, InvalidCron> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let step = is_number.then(|| text.parse::<u32>().ok()).flatten().filter(|step| *step > 0);
        step.ok_or_else(|| self.wrong(text, "a step is a whole number above 0"))
    }

    fn wrong(&self, found: &str, why: &str) -> InvalidCron {
        InvalidCron(format!("{found:?} in the {} field is wrong: {why}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(cron: &str, zone: &str, after: &str) -> Option<String> {
        let zone = TimeZone::get(zone).unwrap();
        let next = Cron::parse(cron).unwrap().next_after(after.parse().unwrap(), &zone);
        next.map(|next| next.to_string())
    }

    #[test]
    fn cron_errors_name_their_field() {
        let check = |text: &str, words: &str| {
            let error = Cron::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        };
        check("", "0 fields");
        check("* * * *", "4 fields");
        check("0 0 * * * *", "6 fields");
        check("60 * * * *", "minute field");
        check("* 24 * * *", "hour field");
        check("* * 0 * *", "day field");
        check("* * * 13 *", "month field");
        check("* * * * 8", "weekday field");
        check("* * * * fre", "weekday field");
        check("5-1 * * * *", "write \"5-59,0-1\"");
        check("0 22-6 * * *", "write \"22-23,0-6\"");
        check("0 0 * nov-feb *", "write \"nov-dec,jan-feb\"");
        check("0 0 28-3 * *", "write \"28-31,1-3\"");
        check("* * * * fri-mon", "write \"fri-sat,sun-mon\"");
        check("* * * * 5-1", "write \"5-6,0-1\"");
        check("* * * * 7-mon", "write \"0-mon\"");
        check("* * * * 7-2", "write \"0-2\"");
        check("* * * * fri-0", "write \"fri-7\"");
        check("* * * * sat-fri", "ends before it begins");
        check("*/0 * * * *", "a step");
        check("*/-1 * * * *", "a step");
        check("+5 * * * *", "minute field");
        check(", * * * *", "minute field");
        check("@reboot", "@reboot");
        check("@", "not known");
    }

    #[test]
    fn days_of_the_week_have_names_and_two_numbers_for_sunday() {
        // 2026-11-22 is a Sunday.
        let check = |cron: &str, expected: &[&str]| {
            let (mut after, mut days) = (String::from("2026-11-21T23:59:59Z"), Vec::new());
            for _ in expected {
                after = next(cron, "UTC", &after).unwrap();
                days.push(after[8..10].to_owned());
            }
            assert_eq!(days, expected, "{cron}");
        };
        check("0 9 * * 1-5", &["23", "24", "25", "26", "27", "30"]);
        check("0 9 * * MON-fri", &["23", "24", "25", "26", "27", "30"]);
        check("0 9 * * 0", &["22", "29"]);
        check("0 9 * * 7", &["22", "29"]);
        check("0 9 * * 5-7", &["22", "27", "28", "29"]);
        check("0 9 * * sat-sun", &["22", "28", "29"]);
        check("0 9 * * 6,0", &["22", "28", "29"]);
        // Either one, if both are restricted.
        check("0 9 25 * 1", &["23", "25", "30"]);
        check("@weekly", &["22", "29"]);
    }

    #[test]
    fn a_range_of_weekdays_or_months_covers_the_days_it_names() {
        let days = |weekdays: &str, expected: &[u64]| {
            let cron = Cron::parse(&format!("0 0 * * {weekdays}")).unwrap();
            assert_eq!(cron.weekdays, expected.iter().fold(0, |set, day| set | 1 << day), "{weekdays}");
        };
        let every = [0, 1, 2, 3, 4, 5, 6];
        for sunday in [
            "sun-sun",
            "SUN-Sun",
            "0-sun",
            "sun-0",
            "7-sun",
            "sun-7",
            "7-7",
            "0-0",
            "0",
            "7",
            "sun",
            "sun-sun/2",
        ] {
            days(sunday, &[0]);
        }
        for all in [
            "0-7",
            "0-6",
            "sun-6",
            "sun-sat",
            "1-7",
            "mon-sun",
            "1-sun",
            "mon-7",
            "*",
            "sun-sun,1-6",
            "1-5,sat-sun",
        ] {
            days(all, &every);
        }
        days("sat-sun", &[0, 6]);
        days("6-7", &[0, 6]);
        days("6-sun", &[0, 6]);
        days("fri-sun", &[0, 5, 6]);
        days("fri-7", &[0, 5, 6]);
        days("sun-mon", &[0, 1]);
        days("0-mon", &[0, 1]);
        days("sun-2", &[0, 1, 2]);
        days("mon-mon", &[1]);
        days("mon-fri", &[1, 2, 3, 4, 5]);
        days("mon-sun/2", &[0, 1, 3, 5]);
        days("sun-sat/2", &[0, 2, 4, 6]);
        days("0-7/7", &[0]);
        let months = |months: &str, expected: std::ops::RangeInclusive<u64>| {
            let cron = Cron::parse(&format!("0 0 1 {months} *")).unwrap();
            assert_eq!(cron.months, expected.fold(0, |set, month| set | 1 << month), "{months}");
        };
        months("dec-dec", 12..=12);
        months("jan-jan", 1..=1);
        months("jan-dec", 1..=12);
        months("1-dec", 1..=12);
        months("Nov-12", 11..=12);
        months("1-12", 1..=12);
    }

    #[test]
    fn a_gap_runs_right_after_and_a_repeated_time_runs_once() {
        let check = |cron: &str, zone: &str, after: &str, expected: &str| {
            assert_eq!(next(cron, zone, after).as_deref(), Some(expected), "{cron} {after}");
        };
        let berlin = "Europe/Berlin";
        // 2027-03-28, 02:00 becomes 03:00.
        check("30 2 * * *", berlin, "2027-03-27T12:00:00Z", "2027-03-28T01:00:00Z");
        check("30 2 * * *", berlin, "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z");
        check("*/20 * * * *", berlin, "2027-03-28T00:40:00Z", "2027-03-28T01:00:00Z");
        check("*/20 * * * *", berlin, "2027-03-28T01:00:00Z", "2027-03-28T01:20:00Z");
        // The first minute of a gap runs right after it, too.
        check("0 2 * * *", berlin, "2027-03-27T12:00:00Z", "2027-03-28T01:00:00Z");
        check("0 2 * * *", berlin, "2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z");
        check("0 0 5 9 *", "America/Santiago", "2027-09-04T12:00:00Z", "2027-09-05T04:00:00Z");
        check("0 0 30 4 *", "Africa/Cairo", "2027-04-29T12:00:00Z", "2027-04-29T22:00:00Z");
        check("@daily", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z");
        // 2027-10-31, 03:00 becomes 02:00.
        check("30 2 * * *", berlin, "2027-10-30T12:00:00Z", "2027-10-31T00:30:00Z");
        check("30 2 * * *", berlin, "2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z");
        check("30 2 * * *", berlin, "2027-10-31T01:15:00Z", "2027-11-01T01:30:00Z");
    }

    #[test]
    fn cron_expression_that_never_matches_is_recognised() {
        assert_eq!(next("0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z"), None);
        assert_eq!(next("0 0 31 4,6,9,11 *", "UTC", "2026-01-01T00:00:00Z"), None);
        let leap = next("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z");
        assert_eq!(leap.as_deref(), Some("2104-02-29T00:00:00Z"));
    }
}
