//! Removes recordings when there are too many or when they are too old. Runs of scheduled jobs and calls of webhooks are
//! counted separately: a job that runs every minute, or a flood of calls, must not displace conversations with people. Files whose names this program did not give are
//! left alone.

use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::names::{self, ZIP};
use crate::options::Keep;

/// Prefixes of the names of recorded job runs and webhook calls.
const COUNTED_APART: [&str; 2] = ["schedule-", "webhook-"];

/// Removes recordings beyond the limits and returns their names.
pub(crate) fn remove_old(folder: &Path, keep: Keep, now: Timestamp) -> Vec<String> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let stems = files.flatten().filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let stem = name.strip_suffix(ZIP)?;
        Some((names::started(stem)?.to_owned(), stem.to_owned()))
    });
    let mut stems: Vec<(String, String)> = stems.collect();
    stems.sort_unstable_by(|one, other| other.cmp(one));
    let age = SignedDuration::from_hours(24 * i64::from(keep.days));
    let oldest = (keep.days > 0).then(|| names::stamp(now.saturating_sub(age).unwrap_or(Timestamp::MIN)));
    // The last one counts the conversations.
    let mut counts = [0_usize; COUNTED_APART.len() + 1];
    let mut is_old = |(started, stem): &(String, String)| {
        let apart = COUNTED_APART.iter().position(|prefix| stem.starts_with(prefix));
        let count = &mut counts[apart.unwrap_or(COUNTED_APART.len())];
        *count += 1;
        (keep.most > 0 && *count > keep.most) || oldest.as_ref().is_some_and(|oldest| started < oldest)
    };
    stems.retain(&mut is_old);
    let removed = stems.into_iter().map(|(_, stem)| stem);
    removed.filter(|stem| fs::remove_file(folder.join(format!("{stem}{ZIP}"))).is_ok()).collect()
}

#[cfg(test)]
#[test]
fn the_newest_recordings_and_foreign_files_are_kept() {
    let now: Timestamp = "2026-11-22T00:00:00Z".parse().unwrap();
    let check = |most: usize, days: u32, expected: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a-20261121T100000000Z", "b-20261120T100000000Z", "c-20261001T100000000Z", "foreign"] {
            fs::write(folder.path().join(format!("{name}.zip")), "x").unwrap();
        }
        fs::write(folder.path().join("d-20200101T100000000Z.journal"), "x").unwrap();
        let mut removed = remove_old(folder.path(), Keep { most, days }, now);
        removed.sort();
        assert_eq!(removed, expected, "{most} and {days} days");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5 - expected.len());
    };
    check(0, 0, &[]);
    check(2, 0, &["c-20261001T100000000Z"]);
    check(1, 0, &["b-20261120T100000000Z", "c-20261001T100000000Z"]);
    check(0, 30, &["c-20261001T100000000Z"]);
    check(1, 30, &["b-20261120T100000000Z", "c-20261001T100000000Z"]);
    check(20, 1, &["b-20261120T100000000Z", "c-20261001T100000000Z"]);
}

#[cfg(test)]
#[test]
fn runs_of_jobs_and_calls_of_webhooks_push_out_no_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "schedule-a-1-20261121T10",
        "schedule-a-2-20261121T11",
        "schedule-a-3-20261121T12",
        "webhook-trigger-a-20261121T13",
        "webhook-trigger-b-20261121T14",
        "webhook-github-20261121T15",
        "webchat-a-20261120T10",
    ];
    for name in names {
        fs::write(folder.path().join(format!("{name}0000000Z.zip")), "x").unwrap();
    }
    let mut removed = remove_old(folder.path(), Keep { most: 2, days: 0 }, Timestamp::MAX);
    removed.sort();
    assert_eq!(removed, ["schedule-a-1-20261121T100000000Z", "webhook-trigger-a-20261121T130000000Z"]);
}
