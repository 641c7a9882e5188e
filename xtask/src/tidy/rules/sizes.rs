//! Limits the length of a file. Aim at 150 lines; 600 is where a reader gives up.

use crate::tidy::finding::Finding;
use crate::tidy::tree::{Tree, is_vendored};

/// The maximum number of lines in a source.
const LIMIT: usize = 600;

/// The types of hand-written files.
const KINDS: [&str; 3] = [".rs", ".js", ".css"];

/// Checks that none of our sources exceeds the limit. Third-party files and recorded test data are exempt.
pub(crate) fn files_are_short(tree: &Tree) -> Vec<Finding> {
    let ours = tree.files.iter().filter(|file| {
        KINDS.iter().any(|kind| file.path.ends_with(kind))
            && !is_vendored(&file.path)
            && !file.path.contains("/data/")
    });
    let mut found = Vec::new();
    for file in ours {
        let lines = file.text.lines().count();
        if lines > LIMIT {
            found.push(Finding::new(
                "file-length",
                &file.path,
                LIMIT + 1,
                format!("{lines} lines, at most {LIMIT}"),
                "split it by idea: what would you name the second file?",
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_exact_and_spares_what_others_wrote() {
        for (path, lines, expected) in [
            ("crates/a/src/a.rs", 600, 0),
            ("crates/a/src/a.rs", 601, 1),
            ("web/assets/chat.js", 601, 1),
            ("web/assets/vendor/highlight.js", 9000, 0),
            ("tests/suite/data/stream.js", 9000, 0),
            ("docs/a.md", 9000, 0),
        ] {
            let text = "// x\n".repeat(lines);
            assert_eq!(files_are_short(&Tree::of(&[(path, &text)])).len(), expected, "{path} {lines}");
        }
    }
}
