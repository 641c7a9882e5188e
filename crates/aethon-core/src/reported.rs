//! Remembers the faults that were logged, so that a command that swaps a file a thousand times a second does not fill it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::visible::exact;

/// How long the same fault of the same file is not reported again.
const QUIET: Duration = Duration::from_mins(10);

/// How many faults are remembered; more are not reported.
const MAX_FAULTS: usize = 1_000;

/// The faults that were reported lately.
#[derive(Debug, Default)]
pub struct Reported(BTreeMap<(String, String), Instant>);

impl Reported {
    /// Reports a fault of a file in the log, unless that was done lately.
    pub fn warn(&mut self, path: &Path, fault: &str) {
        if self.is_new(path, fault) {
            // The name of the file is untrusted and may contain line breaks.
            let [path, fault] =
                [path.display().to_string(), fault.to_owned()].map(|text| exact(&text).replace('\n', " "));
            tracing::warn!("{path}: {fault}");
        }
    }

    fn is_new(&mut self, path: &Path, fault: &str) -> bool {
        let now = Instant::now();
        let key = (path.display().to_string(), fault.to_owned());
        if self.0.get(&key).is_some_and(|then| now.duration_since(*then) < QUIET) {
            return false;
        }
        if self.0.len() >= MAX_FAULTS {
            self.0.retain(|_, then| now.duration_since(*then) < QUIET);
        }
        if self.0.len() >= MAX_FAULTS {
            return false;
        }
        self.0.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_reported_once_and_their_number_is_bounded() {
        let mut reported = Reported::default();
        let new = [("a", "a link"), ("a", "a FIFO"), ("b", "a link")];
        for (file, fault) in new {
            assert!(reported.is_new(Path::new(file), fault));
        }
        for (file, fault) in new {
            assert!(!reported.is_new(Path::new(file), fault));
        }
        let many = (0..10 * MAX_FAULTS).filter(|number| reported.is_new(Path::new("c"), &number.to_string()));
        assert_eq!(many.count(), MAX_FAULTS - new.len());
    }
}
