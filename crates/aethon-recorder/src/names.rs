//! File names of recordings: `SESSION-STARTED.zip`, or `.journal` while the session runs.
//!
//! Session names are arbitrary. The file name keeps only their plain characters; the manifest has the exact name.

use aethon_core::ids::SessionId;
use aethon_core::time::text;
use jiff::Timestamp;

/// Extension of recordings.
pub(crate) const ZIP: &str = ".zip";

/// Extension of journals.
pub(crate) const JOURNAL: &str = ".journal";

/// Maximum characters of the session's name.
const MAX_LEN: usize = 80;

/// Length of the timestamp in a name.
const STAMP: usize = "20261122T202115123Z".len();

/// Returns the name, without extension, of a recording that begins now.
pub(crate) fn stem(session: &SessionId, started: Timestamp) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let session: String = session.as_str().chars().map(plain).take(MAX_LEN).collect();
    format!("{session}-{}", stamp(started))
}

/// Returns the timestamp in the name of a recording made by this program, as text that sorts by time; `None` for other
/// names. A second recording of the same moment has a number appended.
pub(crate) fn started(stem: &str) -> Option<&str> {
    let is_number =
        |part: &str| !part.is_empty() && part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit());
    let stem = match stem.rsplit_once('.') {
        Some((stem, number)) if is_number(number) => stem,
        _ => stem,
    };
    let at = stem.len().checked_sub(STAMP)?;
    let (before, stamp) = (stem.get(..at)?, stem.get(at..)?);
    let is_stamp = stamp.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        18 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    (is_stamp && before.ends_with('-')).then_some(stamp)
}

/// Formats a timestamp for a file name.
pub(crate) fn stamp(moment: Timestamp) -> String {
    text(moment).chars().filter(|c| c.is_ascii_alphanumeric()).collect()
}

#[cfg(test)]
#[test]
fn file_names_contain_the_session_and_the_start_time() {
    let moment: Timestamp = "2026-11-22T20:21:15.123Z".parse().unwrap();
    let check = |id: &str, expected: &str| {
        let stem = stem(&SessionId::parse(id).unwrap(), moment);
        assert_eq!(stem, format!("{expected}-20261122T202115123Z"));
        assert_eq!(started(&stem), Some("20261122T202115123Z"));
        assert_eq!(started(&format!("{stem}.2")), Some("20261122T202115123Z"));
    };
    check("webchat:default", "webchat-default");
    check("webchat:../..\\a b/ü", "webchat-------a-b--");
    check(&format!("webchat:{}", "x".repeat(190)), &format!("webchat-{}", "x".repeat(72)));
    for other in ["", "evil", "holiday-20261122", "x-20261122T202115123", "20261122T202115123Z"] {
        assert_eq!(started(other), None, "{other}");
    }
}
