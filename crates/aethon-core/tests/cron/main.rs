//! Cron against an independent oracle, over two years in three zones.
//!
//! `times.txt` was written by `oracle.py`: the calendar by cronsim, the zones by Python's zoneinfo. Its first line says which
//! versions. Every expression has all its times in the digest, and those round the changes of the clock in words, so that a
//! difference can be read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod changes;

use aethon_core::jiff::Timestamp;
use aethon_core::jiff::civil::date;
use aethon_core::jiff::tz::TimeZone;
use aethon_core::schedule::Cron;

const TABLE: &str = include_str!("times.txt");

fn times(cron: &Cron, zone: &TimeZone) -> Vec<Timestamp> {
    let moment = |year| date(year, 1, 1).to_zoned(zone.clone()).unwrap().timestamp();
    let (mut at, end) = (Timestamp::from_second(moment(2026).as_second() - 1).unwrap(), moment(2028));
    let mut found = Vec::new();
    while let Some(next) = cron.next_after(at, zone).filter(|next| *next < end) {
        found.push(next);
        at = next;
    }
    found
}

fn digest(lines: &[String]) -> String {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    let digest = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{digest:016x}")
}

#[test]
fn two_years_in_three_zones_are_those_of_the_oracle() {
    let rows: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 60);
    for row in rows {
        let fields: Vec<&str> = row.split(" | ").map(str::trim).collect();
        let (zone, expression) = (fields[0], fields[1]);
        let cron = Cron::parse(expression).unwrap();
        let found = times(&cron, &TimeZone::get(zone).unwrap());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        for shown in fields.get(4).unwrap_or(&"").split_whitespace() {
            assert!(found.iter().any(|at| at == shown), "{zone} {expression}: {shown} is missing");
        }
        assert_eq!(found.len().to_string(), fields[2], "{zone} {expression}");
        assert_eq!(digest(&found), fields[3].trim_end_matches(" |"), "{zone} {expression}");
    }
}
