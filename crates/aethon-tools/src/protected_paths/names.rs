//! Compares paths and names as the disks of this world do: in any case, and with patterns.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns whether a path is the place or below it, ignoring case: even on a case-sensitive disk the other spelling is
/// hardly ever something worth reading.
pub(crate) fn is_within(path: &Path, place: &Path) -> bool {
    let mut parts = path.components();
    place
        .components()
        .all(|wanted| parts.next().is_some_and(|part| is_same_name(part.as_os_str(), wanted.as_os_str())))
}

/// Returns whether two names may be the same on a case-insensitive disk. Names that are not UTF-8 are compared as
/// bytes.
fn is_same_name(one: &OsStr, other: &OsStr) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    match (one.to_str(), other.to_str()) {
        (Some(one), Some(other)) => folded(one) == folded(other),
        _ => one == other,
    }
}

/// Folds the case of a name. Goes through upper case, as file systems do, so that `ſ` equals `s` and the kelvin sign
/// equals `k`. Does not unify composed and decomposed accents: where they are the same name, the file is recognized by
/// the path's target, and on Linux they are two names.
pub(crate) fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns whether the file, or a directory above it, has a name that matches the pattern.
pub(super) fn has_name_like(path: &Path, pattern: &str) -> bool {
    path.components().any(|part| part.as_os_str().to_str().is_some_and(|name| is_like(name, pattern)))
}

/// Finds consecutive parts of a path that match a pattern of as many parts (`.vscode/tasks.json`). Returns how many parts
/// the path has up to the end of the match.
pub(super) fn end_of_parts_like(path: &Path, pattern: &str) -> Option<usize> {
    let names: Vec<&str> =
        path.components().map(|part| part.as_os_str().to_str().unwrap_or_default()).collect();
    let patterns: Vec<&str> = pattern.split('/').collect();
    let matches = |names: &[&str]| names.iter().zip(&patterns).all(|(name, pattern)| is_like(name, pattern));
    names.windows(patterns.len()).position(matches).map(|at| at + patterns.len())
}

/// Returns the place of a path, or of a directory above it, that matches a pattern: a place whose last name may have a `*`.
pub(super) fn place_like(path: &Path, pattern: &Path) -> Option<PathBuf> {
    let folder = pattern.parent()?;
    let depth = folder.components().count();
    let name = path.components().nth(depth)?.as_os_str().to_str()?;
    let is_meant = is_within(path, folder) && is_like(name, file_name(pattern));
    is_meant.then(|| path.components().take(depth + 1).collect())
}

pub(super) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Matches a name against a pattern, ignoring case. Each `*` takes its first match, which makes it linear per `*`.
pub(crate) fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (folded(name), folded(pattern));
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_a_shell_s_would() {
        let check = |name: &str, pattern: &str, expected: bool| {
            assert_eq!(is_like(name, pattern), expected, "{name} {pattern}");
        };
        check("a.pem", "*.pem", true);
        check("a.pem.txt", "*.pem", false);
        check("pem", "*.pem", false);
        check("axbxc", "a*b*c", true);
        check("ab", "a*b*c", false);
        check("aba", "ab*ba", false);
        check("same", "same", true);
        check("samer", "same", false);
    }

    #[test]
    fn pattern_of_several_parts_matches_consecutive_parts() {
        let end = |path: &str| end_of_parts_like(Path::new(path), ".vscode/*.json");
        assert_eq!(end("project/.vscode/tasks.json"), Some(3));
        assert_eq!(end("project/.VSCode/tasks.json/below"), Some(3));
        assert_eq!(end("project/.vscode/deep/tasks.json"), None);
        assert_eq!(end(".vscode"), None);
    }

    #[test]
    fn a_pattern_below_a_folder_matches_a_name_in_that_very_folder() {
        let place = |path: &str| place_like(Path::new(path), Path::new("/a/.cache/p10k-*"));
        assert_eq!(place("/a/.cache/p10k-x.zsh"), Some("/a/.cache/p10k-x.zsh".into()));
        assert_eq!(place("/a/.cache/P10K-ada/p/x"), Some("/a/.cache/P10K-ada".into()));
        for other in ["/a/.cache/p10", "/a/p10k-x", "/a/.cache/deep/p10k-x", "/a/.cache"] {
            assert_eq!(place(other), None, "{other}");
        }
    }
}
