//! The tables, arranged so that one path is judged in a few look-ups: a search judges hundreds of thousands.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::names::{folded, is_like};

/// Places with everything below them, found in any case.
#[derive(Debug, Default)]
pub(super) struct PlaceSet(HashMap<Vec<u8>, PathBuf>);

impl PlaceSet {
    pub(super) fn new<'p>(places: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        Self(places.into_iter().map(|place| (folded_path(place), place.clone())).collect())
    }

    /// Returns the outermost of the places that contains this path.
    pub(super) fn containing(&self, path: &Path) -> Option<&PathBuf> {
        let path = folded_path(path);
        let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).find_map(|end| self.0.get(&path[..end]))
    }
}

/// Folds the case of each part, as [`super::names::is_within`] compares them.
fn folded_path(path: &Path) -> Vec<u8> {
    let mut whole = Vec::new();
    for part in path.components().map(|part| part.as_os_str()).filter(|part| *part != "/") {
        whole.push(b'/');
        match part.to_str() {
            Some(name) if name.is_ascii() => whole.extend(name.bytes().map(|byte| byte.to_ascii_lowercase())),
            Some(name) => whole.extend(folded(name).bytes()),
            None => whole.extend(part.as_encoded_bytes()),
        }
    }
    whole
}

/// Patterns for names, by the kind of the pattern.
#[derive(Debug, Default)]
pub(super) struct NameSet {
    whole: HashSet<String>,
    beginnings: Vec<String>,
    ends: Vec<String>,
    others: Vec<String>,
}

impl NameSet {
    pub(super) fn new(patterns: &[&str]) -> Self {
        let mut set = Self::default();
        for pattern in patterns.iter().map(|pattern| folded(pattern)) {
            match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
                (Some(end), _) if !end.contains('*') => set.ends.push(end.to_owned()),
                (_, Some(beginning)) if !beginning.contains('*') => set.beginnings.push(beginning.to_owned()),
                _ if pattern.contains('*') => set.others.push(pattern),
                _ => _ = set.whole.insert(pattern),
            }
        }
        set
    }

    /// Returns whether a name matches one of the patterns, in any case.
    pub(super) fn has(&self, name: &str) -> bool {
        let name = folded(name);
        self.whole.contains(&name)
            || self.ends.iter().any(|end| name.ends_with(end.as_str()))
            || self.beginnings.iter().any(|beginning| name.starts_with(beginning.as_str()))
            || self.others.iter().any(|pattern| is_like(&name, pattern))
    }

    /// Returns whether the file, or a directory above it, has such a name.
    pub(super) fn has_part(&self, path: &Path) -> bool {
        path.components().any(|part| part.as_os_str().to_str().is_some_and(|name| self.has(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protected_paths::is_within;

    #[test]
    fn a_set_answers_as_its_members_one_by_one() {
        let places = ["/home/ada/.ssh", "/home/ada/.config/gh", "/srv/Kéy", "/"].map(PathBuf::from);
        let some = PlaceSet::new(&places[..3]);
        for path in [
            "/home/ada/.ssh",
            "/home/ada/.SSH/id",
            "/home/ada/.sshrc",
            "/home/ada/.ſsh/id",
            "/home/ada/.config",
            "/home/ada/.config/gh/x/y",
            "/srv/KÉY/a",
            "/srv",
            "/",
        ] {
            let path = Path::new(path);
            let expected = places[..3].iter().find(|place| is_within(path, place));
            assert_eq!(some.containing(path), expected, "{}", path.display());
        }
        let patterns = [".env*", "*.pem", "wallet.dat", "client_*.json"];
        let names = NameSet::new(&patterns);
        for name in [".env", ".ENVRC", "a.PEM", "pem", "Wallet.dat", "wallet.date", "client_1.json", "client"]
        {
            let expected = patterns.iter().any(|pattern| is_like(name, pattern));
            assert_eq!(names.has(name), expected, "{name}");
        }
    }
}
