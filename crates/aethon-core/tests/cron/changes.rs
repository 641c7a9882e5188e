//! Random expressions around changes of the clock, against a second way to compute their times: a walk through the minutes
//! of a zone. It converts only from UTC to local time, so it shares neither the search nor the treatment of gaps and repeated
//! hours with the code under test.

use std::collections::HashSet;

use aethon_core::jiff::civil::{DateTime, date};
use aethon_core::jiff::tz::TimeZone;
use aethon_core::jiff::{SignedDuration, Timestamp, ToSpan};
use aethon_core::schedule::Cron;

/// How much is compared on each side of a change.
const SIDE: SignedDuration = SignedDuration::from_hours(3);

const EXPRESSIONS: usize = 5_000;

/// A small generator of random numbers (SplitMix64), so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}

/// The minutes around a change: when they begin, and what the clock on the wall says.
struct Change {
    zone: TimeZone,
    name: String,
    minutes: Vec<(Timestamp, DateTime)>,
}

/// All changes of all zones from 2020 to 2037.
fn changes() -> Vec<(String, TimeZone, Timestamp)> {
    let (from, to): (Timestamp, Timestamp) =
        ("2020-01-01T00:00:00Z".parse().unwrap(), "2038-01-01T00:00:00Z".parse().unwrap());
    let mut found = Vec::new();
    for name in aethon_core::jiff::tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let moments: Vec<Timestamp> =
            zone.following(from).map(|change| change.timestamp()).take_while(|at| *at < to).collect();
        found.extend(moments.into_iter().map(|at| (name.to_string(), zone.clone(), at)));
    }
    found
}

impl Change {
    fn around(name: String, zone: TimeZone, at: Timestamp) -> Self {
        let (mut moment, end) = (at - SIDE, at + SIDE);
        let mut minutes = Vec::new();
        while moment <= end {
            minutes.push((moment, moment.to_zoned(zone.clone()).datetime()));
            moment += SignedDuration::from_mins(1);
        }
        Self { zone, name, minutes }
    }

    /// The times of an expression, by its sets of minutes and hours.
    fn expected(&self, minutes: &HashSet<i8>, hours: &HashSet<i8>) -> Vec<Timestamp> {
        let matches = |wall: &DateTime| hours.contains(&wall.hour()) && minutes.contains(&wall.minute());
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let mut before: Option<DateTime> = None;
        for (moment, wall) in &self.minutes {
            // What the wall clock left out comes right after the gap.
            let mut left_out = before.map(|before| before + 1.minute());
            let mut is_due = false;
            while let Some(skipped) = left_out.filter(|skipped| skipped < wall) {
                is_due |= matches(&skipped) && seen.insert(skipped);
                left_out = Some(skipped + 1.minute());
            }
            is_due |= matches(wall) && seen.insert(*wall);
            if is_due {
                found.push(*moment);
            }
            before = Some(*wall);
        }
        found
    }

    fn found(&self, cron: &Cron) -> Vec<Timestamp> {
        let (first, last) = (self.minutes[0].0, self.minutes[self.minutes.len() - 1].0);
        let mut at = first - SignedDuration::from_millis(1);
        let mut found = Vec::new();
        while let Some(next) = cron.next_after(at, &self.zone).filter(|next| *next <= last) {
            found.push(next);
            at = next;
        }
        found
    }
}

/// A random field and its numbers. Those in favour stand for the places where mistakes are likely.
fn field(random: &mut Random, end: u64, favoured: &[u64]) -> (String, HashSet<i8>) {
    let number = |random: &mut Random| match random.below(2) {
        0 => favoured[usize::try_from(random.below(favoured.len() as u64)).unwrap()],
        _ => random.below(end),
    };
    let set = |numbers: &mut dyn Iterator<Item = u64>| {
        numbers.map(|number| i8::try_from(number).unwrap()).collect()
    };
    match random.below(20) {
        0 => ("*".to_owned(), set(&mut (0..end))),
        1..=4 => {
            let step = 1 + random.below(end / 2);
            (format!("*/{step}"), set(&mut (0..end).step_by(usize::try_from(step).unwrap())))
        }
        5..=8 => {
            let (one, other) = (number(random), number(random));
            (format!("{}-{}", one.min(other), one.max(other)), set(&mut (one.min(other)..=one.max(other))))
        }
        _ => {
            let one = number(random);
            (one.to_string(), set(&mut std::iter::once(one)))
        }
    }
}

#[test]
fn random_expressions_around_every_change_follow_the_documented_rule() {
    let all = changes();
    assert!(all.len() > 2_000 && date(2020, 1, 1) < date(2038, 1, 1), "{}", all.len());
    let mut random = Random(20_261_127);
    let mut checked = 0;
    while checked < EXPRESSIONS {
        let (name, zone, at) = all[usize::try_from(random.below(all.len() as u64)).unwrap()].clone();
        let change = Change::around(name, zone, at);
        // The hour and minute that the change leaves out, or repeats, are the ones that matter.
        let jump = change.minutes.windows(2).find(|pair| pair[0].1 + 1.minute() != pair[1].1);
        let edges: Vec<DateTime> =
            jump.into_iter().flat_map(|pair| [pair[0].1 + 1.minute(), pair[1].1]).collect();
        let hours: Vec<u64> =
            edges.iter().map(|wall| u64::try_from(wall.hour()).unwrap()).chain([0]).collect();
        let minutes: Vec<u64> =
            edges.iter().map(|wall| u64::try_from(wall.minute()).unwrap()).chain([0, 30]).collect();
        for _ in 0..20 {
            let (minute, minute_set) = field(&mut random, 60, &minutes);
            let (hour, hour_set) = field(&mut random, 24, &hours);
            let text = format!("{minute} {hour} * * *");
            let cron = Cron::parse(&text).unwrap();
            assert_eq!(
                change.found(&cron),
                change.expected(&minute_set, &hour_set),
                "{text} {} {at}",
                change.name
            );
            checked += 1;
        }
    }
}
