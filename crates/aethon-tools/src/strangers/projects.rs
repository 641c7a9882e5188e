//! Finds projects: folders with something in them that programs obey when the folder is opened or entered, such as `.git`,
//! `.envrc` or `.vscode`, and repositories and environments, which are known by their contents whatever their name.
//!
//! The kernel knows no patterns, so the places have to be found before a command starts. The search goes level by
//! level, so that projects near the top are found first, and is bounded; hidden folders and those of packages come
//! last, so that they take nothing from the others. A folder in which it does not get to the end counts as a place as a
//! whole: otherwise a command could fill a folder, or make one unreadable, to keep the search from files that the next
//! command wants to change. Directories that did not change are not read again.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::files::{OF_REPOSITORIES, makes_repository, real};
use crate::protected_paths::{ProtectedPaths, resolved};
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

/// Folders with the files of packages and builds. A person enters at most a repository in them: packages bring along
/// settings of editors that have no effect there.
const OF_PACKAGES: [&str; 4] = ["node_modules", "target", "__pycache__", "vendor"];

/// What makes a folder a repository, beside its files.
const REPOSITORIES: [&str; 3] = [".git", ".hg", ".jj"];
/// The file that marks an environment of Python.
const ENVIRONMENT: &str = "pyvenv.cfg";
/// Maximum number of bytes read of a file that says where a repository lies.
const MAX_POINTER: usize = 4096;

/// How many levels of the workspace are searched for projects, by each sandbox alike.
pub(crate) const DEPTH_IN_WORKSPACE: usize = 4;

/// Where projects are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root<'r> {
    pub(crate) folder: &'r Path,
    /// How many levels below it are searched.
    pub(crate) depth: usize,
}

/// A search, with its memory of directories that it has read.
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
    /// Whether programs obey all that is in it: a repository's own folder, or an environment.
    is_closed: bool,
}

/// The directories that wait to be read.
#[derive(Debug, Default)]
struct Waiting {
    first: VecDeque<Waits>,
    last: VecDeque<Waits>,
}

#[derive(Debug)]
struct Waits {
    folder: PathBuf,
    depth: usize,
    kind: Kind,
}

/// The kind of a directory, by its own name and the names above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usual,
    Hidden,
    OfPackages,
}

impl Kind {
    fn of(name: &str, above: Self) -> Self {
        match above {
            _ if OF_PACKAGES.contains(&name) => Self::OfPackages,
            Self::Usual if name.starts_with('.') => Self::Hidden,
            above => above,
        }
    }
}

impl Waiting {
    fn push(&mut self, waits: Waits) {
        match waits.kind {
            Kind::Usual => self.first.push_back(waits),
            Kind::Hidden | Kind::OfPackages => self.last.push_back(waits),
        }
    }

    fn push_inner(&mut self, above: &Waits, inner: &[PathBuf]) {
        for folder in inner {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let kind = Kind::of(&name, above.kind);
            self.push(Waits { folder: folder.clone(), depth: above.depth + 1, kind });
        }
    }

    fn pop(&mut self) -> Option<Waits> {
        self.first.pop_front().or_else(|| self.last.pop_front())
    }
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

    /// Returns what in the projects below these roots, the roots included, acts later, and the folders that are not
    /// searched to the end. Some of the places do not exist.
    pub(crate) fn find(&mut self, protected: &ProtectedPaths, roots: &[Root<'_>]) -> Vec<PathBuf> {
        let (mut places, mut seen) = (Vec::new(), HashMap::new());
        for root in roots {
            let mut open = Waiting::default();
            open.push(Waits { folder: root.folder.to_path_buf(), depth: 0, kind: Kind::Usual });
            let mut left = self.limits.directories.saturating_sub(1);
            while let Some(waits) = open.pop() {
                let folder = &waits.folder;
                let now = match self.read(folder) {
                    Read::Whole(now) => now,
                    Read::InPart => {
                        places.extend(protected.unless_opened(folder.clone()));
                        continue;
                    }
                    Read::Nothing => continue,
                };
                if now.is_closed {
                    places.extend(protected.unless_opened(folder.clone()));
                } else {
                    let is_project = waits.kind != Kind::OfPackages
                        || now.marks.iter().any(|mark| REPOSITORIES.contains(&mark.as_str()));
                    if is_project && !now.marks.is_empty() {
                        let found = protected.places_in_project(folder, &now.marks);
                        let moved = resolved(&found).into_iter().chain(elsewhere(folder, &now.marks));
                        places.extend(moved.filter_map(|place| protected.unless_opened(place)));
                        places.extend(found);
                    }
                    if waits.depth < root.depth {
                        let inner = now.directories.len();
                        // Folders are searched with all their folders or not at all, so that one with very many takes
                        // nothing from the others, and all that waits is reached.
                        if inner <= left {
                            left -= inner;
                            open.push_inner(&waits, &now.directories);
                        } else {
                            places.extend(protected.unless_opened(folder.clone()));
                        }
                    }
                }
                seen.insert(waits.folder, now);
            }
        }
        self.seen = seen;
        places.sort();
        places.dedup();
        places
    }

    /// Reads the direct entries of a directory.
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
        let mut seen = Seen { stamp, marks: Vec::new(), directories: Vec::new(), is_closed: false };
        let mut telling = Vec::new();
        for (place, entry) in entries.enumerate() {
            let Ok(entry) = entry else { return Read::InPart };
            if place == self.limits.entries {
                return Read::InPart;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if ProtectedPaths::marks_project(&name) {
                seen.marks.push(name.into_owned());
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                seen.directories.push(entry.path());
            }
            if *name == *ENVIRONMENT || OF_REPOSITORIES.iter().any(|known| *name == **known) {
                telling.push(name.into_owned());
            }
        }
        let has = |name: &str| telling.iter().any(|found| found == name);
        seen.is_closed = has(ENVIRONMENT) || makes_repository(has);
        seen.marks.sort();
        Read::Whole(seen)
    }
}

/// Returns the folders of the repository of a project if they lie elsewhere: its `.git` is then a file that says where.
fn elsewhere(folder: &Path, marks: &[String]) -> Vec<PathBuf> {
    if !marks.iter().any(|mark| mark == ".git") {
        return Vec::new();
    }
    let Some(own) = pointer(&folder.join(".git"), "gitdir:").map(|own| real(&folder.join(own))) else {
        return Vec::new();
    };
    // The target must look like a repository itself, because anybody may have written the file.
    if own.join("HEAD").symlink_metadata().is_err() {
        return Vec::new();
    }
    let shared = pointer(&own.join("commondir"), "").map(|shared| real(&own.join(shared)));
    let shared = shared.filter(|shared| shared.join("HEAD").symlink_metadata().is_ok());
    std::iter::once(own).chain(shared).collect()
}

/// Returns the path in a file that consists of one, after this word.
fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    let text = String::from_utf8(aethon_files::read_given(file, MAX_POINTER).ok()??.bytes).ok()?;
    let path = text.strip_prefix(word)?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::options::Options;

    #[test]
    fn projects_near_the_top_are_found_and_found_again_after_changes() {
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

    #[test]
    fn repositories_are_found_in_hidden_folders_and_packages() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in [
            ".hidden/app/.git/config",
            "app/vendor/lib/.git/config",
            "app/node_modules/x/.github/workflows/x.yml",
            "bare/HEAD",
            "bare/objects/x",
            "bare/refs/x",
            "env/pyvenv.cfg",
            "far/store/app/HEAD",
            "far/store/app/worktrees/tree/HEAD",
            "far/store/app/hooks/x",
            "linked/main.rs",
            "liar/main.rs",
            "far/plain/x",
            "link/main.rs",
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        let point = |file: &str, text: &str| fs::write(base.join(file), text).unwrap();
        point("linked/.git", "gitdir: ../far/store/app/worktrees/tree\n");
        point("far/store/app/worktrees/tree/commondir", "../..\n");
        point("liar/.git", "gitdir: ../far/plain\n");
        std::os::unix::fs::symlink("../far/plain/x", base.join("link/.envrc")).unwrap();
        let protected = ProtectedPaths::new(&Options { workspace: base.clone(), ..Options::default() });
        let found = Projects::default().find(&protected, &[Root { folder: &base, depth: 3 }]);
        let found: Vec<String> =
            found.iter().map(|it| it.strip_prefix(&base).unwrap().display().to_string()).collect();
        for expected in [
            ".hidden/app/.git",
            "app/vendor/lib/.git",
            "bare",
            "env",
            "far/store/app",
            "far/store/app/worktrees/tree",
            "linked/.git",
            "far/plain/x",
        ] {
            assert!(found.contains(&expected.to_owned()), "{expected}: {found:?}");
        }
        for other in ["far/plain", "app/node_modules/x/.github/workflows"] {
            assert!(!found.contains(&other.to_owned()), "{other}: {found:?}");
        }
    }

    #[test]
    fn packages_take_nothing_from_what_people_enter() {
        let found = found_after(&[], |base| fill(&base.join("clients/node_modules"), LIMITS.directories));
        assert!(found.contains(&"clients/acme/app/.git".to_owned()), "{found:?}");
        assert!(found.contains(&"clients/node_modules".to_owned()), "{found:?}");
    }

    const LIMITS: Limits = Limits { directories: 50, entries: 60 };

    /// A workspace with the project `clients/acme/app`, and the findings in it after a change.
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
        (0..count).for_each(|number| fs::create_dir_all(folder.join(format!("x{number}"))).unwrap());
    }

    #[test]
    fn flood_of_folders_hides_no_project() {
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
