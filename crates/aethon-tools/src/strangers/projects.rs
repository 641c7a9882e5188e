//! Finds projects: folders with something in them that programs obey when the folder is opened or entered, such as `.git`,
//! `.envrc` or `.vscode`.
//!
//! The kernel knows no patterns, so the places have to be found before a command starts. The search goes level by level, so
//! that what is near the top is found first, and is bounded: what lies deeper stays as it is. Directories that did not change
//! are not read again.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::protected_paths::ProtectedPaths;
use crate::stamp::Stamp;

/// Maximum number of directories searched below one root.
const MAX_DIRECTORIES: usize = 1_000;
/// Maximum number of entries read of a directory.
const MAX_ENTRIES: usize = 5_000;

/// What holds the files of packages and builds, and no project that a person opens.
const NOT_ENTERED: [&str; 4] = ["node_modules", "target", "__pycache__", "vendor"];

/// Where projects are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root<'r> {
    pub(crate) folder: &'r Path,
    /// How many levels below it are searched.
    pub(crate) depth: usize,
}

/// A search, and what it remembers of the directories that it has read.
#[derive(Debug, Default)]
pub(crate) struct Projects(HashMap<PathBuf, Seen>);

/// A directory as it was.
#[derive(Debug, Clone)]
struct Seen {
    stamp: Stamp,
    /// The entries that make it a project.
    marks: Vec<String>,
    directories: Vec<PathBuf>,
}

impl Projects {
    /// Returns what in the projects below these roots, the roots included, acts later. Some of the places do not exist.
    pub(crate) fn find(&mut self, protected: &ProtectedPaths, roots: &[Root<'_>]) -> Vec<PathBuf> {
        let (mut places, mut seen) = (Vec::new(), HashMap::new());
        for root in roots {
            let mut open = VecDeque::from([(root.folder.to_path_buf(), 0)]);
            let mut left = MAX_DIRECTORIES;
            while let Some((folder, depth)) = open.pop_front() {
                if left == 0 {
                    break;
                }
                left -= 1;
                let Some(now) = self.read(&folder) else { continue };
                if !now.marks.is_empty() {
                    places.extend(protected.places_in_project(&folder, &now.marks));
                }
                if depth < root.depth {
                    open.extend(now.directories.iter().map(|inner| (inner.clone(), depth + 1)));
                }
                seen.insert(folder, now);
            }
        }
        self.0 = seen;
        places.sort();
        places.dedup();
        places
    }

    /// Returns what is directly in a directory; `None` if it cannot be read.
    fn read(&mut self, folder: &Path) -> Option<Seen> {
        // Taken before reading, so that a change meanwhile is noticed the next time.
        let stamp = Stamp::of(folder)?;
        if let Some(seen) = self.0.remove(folder).filter(|seen| seen.stamp == stamp) {
            return Some(seen);
        }
        let mut seen = Seen { stamp, marks: Vec::new(), directories: Vec::new() };
        for entry in fs::read_dir(folder).ok()?.take(MAX_ENTRIES).flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if ProtectedPaths::marks_project(name) {
                seen.marks.push(name.to_owned());
            } else if !name.starts_with('.')
                && !NOT_ENTERED.contains(&name)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                seen.directories.push(entry.path());
            }
        }
        seen.marks.sort();
        Some(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn what_projects_hold_is_found_near_the_top_and_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in [
            "app/.git/config",
            "app/src/main.rs",
            "app/packages/web/.vscode/tasks.json",
            "app/node_modules/x/.vscode/tasks.json",
            "plain/notes.md",
            "vault/.obsidian/app.json",
            "a/b/c/d/.envrc",
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        let protected = ProtectedPaths::new(&Options { workspace: base.clone(), ..Options::default() });
        let mut projects = Projects::default();
        let mut find = || {
            let found = projects.find(&protected, &[Root { folder: &base, depth: 3 }]);
            found.iter().map(|it| it.strip_prefix(&base).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        let found = find();
        for expected in
            ["app/.git", "app/.aethon-closed", "app/packages/web/.vscode", "vault/.obsidian/plugins"]
        {
            assert!(found.contains(&expected.to_owned()), "{expected}: {found:?}");
        }
        let is_left_out =
            |it: &String| it.starts_with("plain") || it.contains("node_modules") || it.contains("/d/");
        assert!(!found.iter().any(is_left_out), "{found:?}");
        fs::write(base.join("plain/.mcp.json"), "x").unwrap();
        fs::remove_dir_all(base.join("vault/.obsidian")).unwrap();
        let found = find();
        assert!(found.contains(&"plain/.mcp.json".to_owned()), "{found:?}");
        assert!(!found.iter().any(|it| it.starts_with("vault")), "{found:?}");
    }
}
