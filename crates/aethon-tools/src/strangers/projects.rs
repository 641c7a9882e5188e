//! Finds projects: folders with something in them that programs obey when the folder is opened or entered, such as `.git`,
//! `.envrc` or `.vscode`.
//!
//! The kernel knows no patterns, so the places have to be found before a command starts. The search goes level by level, so
//! that what is near the top is found first, and is bounded. A folder in which it does not get to the end counts as a place as
//! a whole: otherwise a command could fill a folder, or make one unreadable, to keep the search from what the next command
//! wants to change. Directories that did not change are not read again.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::protected_paths::ProtectedPaths;
use crate::stamp::Stamp;

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Maximum number of directories searched below one root.
    pub(super) directories: usize,
    /// Maximum number of entries of a directory that is searched.
    pub(super) entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { directories: 4_000, entries: 20_000 }
    }
}

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
pub(crate) struct Projects {
    seen: HashMap<PathBuf, Seen>,
    limits: Limits,
}

/// A directory as it was.
#[derive(Debug, Clone)]
struct Seen {
    stamp: Stamp,
    /// The entries that make it a project.
    marks: Vec<String>,
    directories: Vec<PathBuf>,
}

/// What reading a directory has given.
enum Read {
    Whole(Seen),
    /// It has too many entries, or cannot be read.
    InPart,
    /// It is gone.
    Nothing,
}

impl Projects {
    #[cfg(test)]
    pub(super) fn within(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns what in the projects below these roots, the roots included, acts later, and the folders that are not searched to
    /// the end. Some of the places do not exist.
    pub(crate) fn find(&mut self, protected: &ProtectedPaths, roots: &[Root<'_>]) -> Vec<PathBuf> {
        let (mut places, mut seen) = (Vec::new(), HashMap::new());
        for root in roots {
            let mut open = VecDeque::from([(root.folder.to_path_buf(), 0)]);
            let mut left = self.limits.directories.saturating_sub(1);
            while let Some((folder, depth)) = open.pop_front() {
                let now = match self.read(&folder) {
                    Read::Whole(now) => now,
                    Read::InPart => {
                        places.extend(protected.unless_opened(folder));
                        continue;
                    }
                    Read::Nothing => continue,
                };
                if !now.marks.is_empty() {
                    places.extend(protected.places_in_project(&folder, &now.marks));
                }
                if depth < root.depth {
                    let inner = now.directories.len();
                    // Folders are searched with all their folders or not at all, so that one with very many takes nothing
                    // from the others, and all that waits is reached.
                    if inner <= left {
                        left -= inner;
                        open.extend(now.directories.iter().map(|inner| (inner.clone(), depth + 1)));
                    } else {
                        places.extend(protected.unless_opened(folder.clone()));
                    }
                }
                seen.insert(folder, now);
            }
        }
        self.seen = seen;
        places.sort();
        places.dedup();
        places
    }

    /// Reads what is directly in a directory.
    fn read(&mut self, folder: &Path) -> Read {
        // Taken before reading, so that a change meanwhile is noticed the next time.
        let Some(stamp) = Stamp::of(folder) else {
            let is_gone = folder.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
            return if is_gone { Read::Nothing } else { Read::InPart };
        };
        if let Some(seen) = self.seen.remove(folder).filter(|seen| seen.stamp == stamp) {
            return Read::Whole(seen);
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Read::Nothing,
            Err(_) => return Read::InPart,
        };
        let mut seen = Seen { stamp, marks: Vec::new(), directories: Vec::new() };
        for (place, entry) in entries.enumerate() {
            let Ok(entry) = entry else { return Read::InPart };
            if place == self.limits.entries {
                return Read::InPart;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if ProtectedPaths::marks_project(&name) {
                seen.marks.push(name.into_owned());
            } else if !name.starts_with('.')
                && !NOT_ENTERED.contains(&&*name)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                seen.directories.push(entry.path());
            }
        }
        seen.marks.sort();
        Read::Whole(seen)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

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

    const LIMITS: Limits = Limits { directories: 50, entries: 60 };

    /// A workspace with the project `clients/acme/app`, and what is found in it after a change.
    fn found_after(allowed: &[&str], change: impl FnOnce(&Path)) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("clients/acme/app/.git/hooks")).unwrap();
        fs::create_dir(base.join("notes")).unwrap();
        let mut options = Options { workspace: base.clone(), ..Options::default() };
        options.places.allowed = allowed.iter().map(|path| base.join(path).display().to_string()).collect();
        let protected = ProtectedPaths::new(&options);
        let mut projects = Projects::within(LIMITS);
        projects.find(&protected, &[Root { folder: &base, depth: 4 }]);
        change(&base);
        let found = projects.find(&protected, &[Root { folder: &base, depth: 4 }]);
        for folder in ["clients", "clients/acme", "clients/acme/app"] {
            // So that all of it can be removed.
            fs::set_permissions(base.join(folder), fs::Permissions::from_mode(0o755)).unwrap();
        }
        found.iter().map(|it| it.strip_prefix(&base).unwrap().display().to_string()).collect()
    }

    fn fill(folder: &Path, count: usize) {
        (0..count).for_each(|number| fs::create_dir(folder.join(format!("x{number}"))).unwrap());
    }

    #[test]
    fn a_flood_of_folders_closes_the_flooded_one_and_keeps_no_project_from_being_found() {
        let found = found_after(&[], |base| fill(&base.join("notes"), LIMITS.directories));
        for expected in ["notes", "clients/acme/app/.git"] {
            assert!(found.contains(&expected.to_owned()), "{expected}: {found:?}");
        }
        // One that leaves no room for what lies deeper closes that.
        let found = found_after(&[], |base| fill(&base.join("notes"), LIMITS.directories - 4));
        assert!(
            found.contains(&"clients/acme".to_owned()) && !found.contains(&"notes".to_owned()),
            "{found:?}"
        );
        let found = found_after(&[], |base| fill(base, LIMITS.directories));
        assert!(found.contains(&String::new()), "the workspace as a whole: {found:?}");
        let found = found_after(&["notes"], |base| fill(&base.join("notes"), LIMITS.directories));
        assert!(!found.contains(&"notes".to_owned()), "the owner has opened it: {found:?}");
    }

    #[test]
    fn a_folder_with_too_many_entries_is_closed_as_a_whole() {
        let found = found_after(&[], |base| {
            (0..=LIMITS.entries)
                .for_each(|n| fs::write(base.join("clients").join(n.to_string()), "").unwrap());
        });
        assert_eq!(found, ["clients"]);
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_closed_as_a_whole() {
        if rustix::process::geteuid().is_root() {
            // Root reads everything.
            return;
        }
        for (hidden, mode) in [("clients/acme", 0o000), ("clients/acme/app", 0o000), ("clients", 0o444)] {
            let found = found_after(&[], |base| {
                fs::set_permissions(base.join(hidden), fs::Permissions::from_mode(mode)).unwrap();
            });
            let is_closed =
                |it: &String| Path::new("clients/acme/app/.git").starts_with(it) && !it.is_empty();
            assert!(found.iter().any(is_closed), "{hidden}: {found:?}");
        }
    }
}
