//! Shows a change of a file as a unified diff, bounded in length and time.

use std::time::{Duration, Instant};

use aethon_core::untrusted::shortened_between_words;
use similar::{Algorithm, TextDiff};

/// Maximum number of lines shown.
const MAX_LINES: usize = 200;
/// Maximum characters shown of a line.
const MAX_LINE: usize = 400;
/// Time limit for an exact diff; after that a coarser one is used.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Larger texts are not compared.
const MAX_BYTES: usize = 4 << 20;

/// Returns the diff between two texts of this name; `None` if they are equal.
pub(super) fn unified(name: &str, before: &str, after: &str) -> Option<String> {
    if before == after {
        return None;
    }
    if before.len() + after.len() > MAX_BYTES {
        return Some(format!("[{} bytes became {}; too much to show as a diff]", before.len(), after.len()));
    }
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline(Instant::now() + TIMEOUT)
        .diff_lines(before, after);
    let text =
        diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string();
    let total = text.lines().count();
    let mut shown: String = text
        .lines()
        .take(MAX_LINES)
        .map(|line| shortened_between_words(line.to_owned(), MAX_LINE) + "\n")
        .collect();
    if total > MAX_LINES {
        shown.push_str(&format!("[{} more lines of the diff]\n", total - MAX_LINES));
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 10\n", "line ten\n");
        let diff = unified("a.txt", &before, &after).unwrap();
        assert!(diff.starts_with("--- a/a.txt\n+++ b/a.txt\n@@ -7,7 +7,7 @@\n"), "{diff}");
        assert!(diff.contains("\n-line 10\n+line ten\n"), "{diff}");
        assert_eq!(unified("a.txt", &before, &before), None);
    }

    #[test]
    fn a_long_change_is_bounded() {
        let after: String = (1..=5000).map(|n| format!("{n} {}\n", "x".repeat(1000))).collect();
        let diff = unified("a.txt", "", &after[..MAX_BYTES / 2]).unwrap();
        assert!(diff.len() < 100_000 && diff.contains("more lines of the diff"));
        assert!(unified("a.txt", &"x".repeat(MAX_BYTES), "y").unwrap().contains("too much"));
    }
}
