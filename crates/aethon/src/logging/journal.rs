//! Whether the journal of systemd reads standard error, and how it wants its lines.
//!
//! The journal stamps every line by itself, and reads its priority from a number in front. A second time would only push
//! the message out of sight, and without the number a warning would count as much as everything else.

use aethon_core::log::Level;

/// Returns whether standard error is the stream that `JOURNAL_STREAM` names, as device and inode. The variable alone does not
/// say so: every program below a service inherits it, also one whose standard error is a terminal or a file.
pub(crate) fn is_on_stderr(named: Option<&str>) -> bool {
    let Some(named) = named else { return false };
    let found = rustix::fs::fstat(std::io::stderr());
    found.is_ok_and(|found| format!("{}:{}", found.st_dev, found.st_ino) == named)
}

/// Returns what a line of this level begins with.
pub(super) fn priority(level: Level) -> &'static str {
    match level {
        Level::Error => "<3>",
        Level::Warn => "<4>",
        Level::Info => "<6>",
        Level::Debug | Level::Trace => "<7>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_stream_is_the_journal() {
        let own = rustix::fs::fstat(std::io::stderr()).unwrap();
        assert!(is_on_stderr(Some(&format!("{}:{}", own.st_dev, own.st_ino))));
        for other in [None, Some(""), Some("8:12345"), Some("words")] {
            assert!(!is_on_stderr(other), "{other:?}");
        }
    }
}
