//! Computes what to grant so that everything but a few places can be reached.
//!
//! Landlock has no exceptions: a grant includes everything below. So the directories on the way to a closed place are
//! not granted, but everything else in them is, entry by entry. Such a directory can be listed and traversed, but
//! nothing can be created, renamed or removed directly in it.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the paths to grant with everything below them. `kept` is granted even if it lies in a closed place.
pub(super) fn grants(closed: &[PathBuf], kept: &Path) -> Vec<PathBuf> {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let closed = Closed {
        paths: closed,
        identities: closed.iter().filter_map(|path| fs::symlink_metadata(path).ok()).map(identity).collect(),
    };
    let root = Path::new("/");
    let mut granted = Vec::new();
    if closed.lies_below(root) {
        closed.grant_entries(root, &mut granted)
    } else {
        granted.push(root.into())
    }
    granted.push(kept.to_path_buf());
    granted
}

struct Closed<'p> {
    paths: &'p [PathBuf],
    /// Device and inode, so that another spelling of a name does not open the place.
    identities: HashSet<(u64, u64)>,
}

impl Closed<'_> {
    fn lies_below(&self, directory: &Path) -> bool {
        self.paths.iter().any(|path| path.starts_with(directory) && path != directory)
    }

    /// Skips a directory that cannot be listed; the person could not list it either.
    fn grant_entries(&self, directory: &Path, granted: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten() {
            // Metadata of the entry itself: the target of a symlink is granted or not where it lies.
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_symlink() || self.is_closed(&path, &metadata) {
                continue;
            }
            if metadata.is_dir() && self.lies_below(&path) {
                self.grant_entries(&path, granted);
            } else {
                granted.push(path);
            }
        }
    }

    fn is_closed(&self, path: &Path, metadata: &Metadata) -> bool {
        self.identities.contains(&(metadata.dev(), metadata.ino()))
            || self.paths.iter().any(|closed| path == closed || is_sibling(path, closed))
    }
}

/// A closed file includes its siblings with a longer name: journals, backups, half-written files.
fn is_sibling(path: &Path, closed: &Path) -> bool {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let (Some(name), Some(first)) = (name(path), name(closed)) else { return false };
    let rest = name.strip_prefix(&first).or_else(|| name.strip_prefix('.')?.strip_prefix(&first));
    path.parent() == closed.parent() && rest.is_some_and(|rest| rest.starts_with(['-', '.', '~']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_closed_places_is_granted() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in
            ["ada/.aethon/workspace/a", "ada/.aethon/aethon.db", "ada/.ssh/id", "ada/project/b", "bob/c"]
        {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        fs::write(base.join("ada/own.toml"), "x").unwrap();
        fs::write(base.join("ada/own.toml.bak"), "x").unwrap();
        std::os::unix::fs::symlink(base.join("ada/.aethon"), base.join("ada/link")).unwrap();
        let closed = [base.join("ada/.aethon"), base.join("ada/.ssh"), base.join("ada/own.toml")];
        let granted = grants(&closed, &base.join("ada/.aethon/workspace"));
        let below: Vec<_> = granted
            .iter()
            .filter_map(|path| path.strip_prefix(&base).ok()?.to_str())
            .collect::<HashSet<_>>()
            .into_iter()
            .collect();
        let mut below: Vec<&str> = below;
        below.sort_unstable();
        assert_eq!(below, ["ada/.aethon/workspace", "ada/project", "bob"]);
        assert!(
            granted.iter().any(|path| path == Path::new("/usr")) && !granted.contains(&PathBuf::from("/"))
        );
    }

    #[test]
    fn without_closed_places_all_is_granted() {
        assert_eq!(grants(&[], Path::new("/w")), [PathBuf::from("/"), PathBuf::from("/w")]);
    }
}
