//! The lists of places and names, as text files, so that a new place is one line under the heading of its kind.
//!
//! `lists/` has one entry per line; blank lines and lines that start with `#` do not count. The owner adds to the
//! credentials with `security.blocked_paths` and takes away from all lists with `security.allowed_paths`.

use std::sync::LazyLock;

/// A list that is split into its entries when it is first used.
type List = LazyLock<Vec<&'static str>>;

/// Places where people keep credentials, below a home. Closed for reading and writing.
pub(super) static CREDENTIALS: List = List::new(|| entries(include_str!("lists/credentials.txt")));
/// Names that mark a file as secret in any folder outside the workspace.
pub(super) static SECRET_NAMES: List = List::new(|| entries(include_str!("lists/secret_names.txt")));
/// Files that programs run or obey when they start, below a home. Content written there acts later, as the owner and
/// outside every wall, so these places are closed for writing, whether they exist or not; they may be read.
pub(super) static START_UP: List = List::new(|| entries(include_str!("lists/start_up.txt")));
/// Start-up places with a `*` in the last name.
pub(super) static START_UP_PATTERNS: List =
    List::new(|| entries(include_str!("lists/start_up_patterns.txt")));
/// Start-up places by their names in any folder outside the workspace.
pub(super) static START_UP_NAMES: List = List::new(|| entries(include_str!("lists/start_up_names.txt")));
/// Names closed in addition, also in the workspace, to turns that the owner did not begin.
pub(super) static PROJECT_NAMES: List = List::new(|| entries(include_str!("lists/project_names.txt")));

/// Folders whose own files are programs that a shell finds, while the folders in them are not: stores of packages.
pub(super) const PROGRAM_FOLDERS: &[&str] = &[".local/share/pnpm", "Library/pnpm"];

fn entries(text: &'static str) -> Vec<&'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A stray blank, an absolute path or a `~` would make an entry match nothing without a word.
    #[test]
    fn each_entry_is_a_plain_relative_path_that_is_listed_once() {
        let lists =
            [&CREDENTIALS, &SECRET_NAMES, &START_UP, &START_UP_PATTERNS, &START_UP_NAMES, &PROJECT_NAMES];
        for list in lists {
            let mut seen = HashSet::new();
            assert!(list.len() >= 8, "{list:?}");
            for entry in list.iter() {
                assert_eq!(entry.trim(), *entry);
                assert!(!entry.split('/').any(|part| matches!(part, "" | "." | ".." | "~")), "{entry}");
                assert!(seen.insert(entry), "{entry} is listed twice");
            }
        }
        for list in [&CREDENTIALS, &START_UP] {
            assert!(list.iter().all(|entry| !entry.contains('*')), "only names and patterns have a `*`");
        }
    }
}
