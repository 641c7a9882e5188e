//! Finds secrets by their names or contents, not by their place: key files and copies of an assistant's home.
//!
//! The kernel knows no patterns, so the files have to be found before a command starts. The search covers the home and
//! two levels below it, and for copies of a home also the neighbours of the home. In the owner's turns it leaves out
//! what lies in a project: there the project's own programs read such files, and closing one forbids them to make
//! anything beside it. In other turns it leaves out nothing, and a folder that it cannot finish is closed as a whole:
//! otherwise a command could make a folder a project, or fill one, to read the keys in it with the next command.
//! Directories that did not change are not read again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use aethon_core::turn::Trust;

use crate::protected_paths::{ProtectedPaths, is_assistants_home};
use crate::stamp::Stamp;

/// Maximum number of directories searched in the owner's turns, and in others. There the rest is closed, so it has to
/// be more than an ordinary home has.
const MAX_DIRECTORIES: usize = 600;
const MAX_DIRECTORIES_OF_STRANGERS: usize = 4_000;
/// Maximum number of entries read of a directory.
const MAX_ENTRIES: usize = 20_000;
/// How deep below a home files are found: 1 is directly in it.
const MAX_DEPTH: usize = 3;

/// What makes a folder a project, which its own programs work in.
const PROJECT: &str = ".git .hg .svn .jj package.json deno.json Cargo.toml pyproject.toml requirements.txt setup.py \
    manage.py go.mod pom.xml build.gradle build.gradle.kts Gemfile composer.json mix.exs CMakeLists.txt \
    Makefile docker-compose.yml compose.yaml compose.yml";

/// The findings.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Files whose names say that they are keys.
    pub(super) files: Vec<PathBuf>,
    /// Copies of an assistant's home.
    pub(super) homes: Vec<PathBuf>,
    /// Folders that were not searched to the end. Empty in the owner's turns.
    pub(super) unsearched: Vec<PathBuf>,
}

/// A search, with its memory of directories that it has read.
#[derive(Debug, Default)]
pub(super) struct Scan(HashMap<PathBuf, Seen>);

/// A directory as it was.
#[derive(Debug, Clone)]
struct Seen {
    stamp: Stamp,
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    is_project: bool,
    /// Whether all of its entries were read.
    is_whole: bool,
}

impl Scan {
    /// Searches below the homes, and for copies of a home beside `own_home`. Nothing in the `skipped` places is searched.
    pub(super) fn find(
        &mut self,
        protected: &ProtectedPaths,
        own_home: Option<&Path>,
        skipped: &HashSet<PathBuf>,
        trust: Trust,
    ) -> Found {
        let is_owner = trust.is_owner();
        let mut left = if is_owner { MAX_DIRECTORIES } else { MAX_DIRECTORIES_OF_STRANGERS };
        let mut found = Found::default();
        let mut seen = HashMap::new();
        let mut open: VecDeque<(PathBuf, usize)> = protected
            .homes()
            .iter()
            .filter(|home| !skipped.contains(*home))
            .map(|it| (it.clone(), 1))
            .collect();
        while let Some((directory, depth)) = open.pop_front() {
            if seen.contains_key(&directory) {
                continue;
            }
            if depth > 1 && is_assistants_home(&directory) {
                found.homes.push(directory);
                continue;
            }
            let Some(now) = self.read(&directory, protected) else {
                if !is_owner && !is_gone(&directory) {
                    found.unsearched.push(directory);
                }
                continue;
            };
            // The home itself may well be kept in a repository.
            if depth == 1 || !now.is_project || !is_owner {
                found.files.extend(now.files.iter().cloned());
                let is_entered = depth < MAX_DEPTH && (depth == 1 || !is_hidden(&directory));
                let inner = now.directories.iter().filter(|inner| is_entered && !skipped.contains(*inner));
                let inner: Vec<&PathBuf> = inner.filter(|it| depth == 1 || !is_hidden(it)).collect();
                if !is_owner && (!now.is_whole || inner.len() > left) {
                    // With all its folders or not at all, so that a folder with very many takes nothing from the others.
                    found.unsearched.push(directory.clone());
                } else {
                    let inner = &inner[..inner.len().min(left)];
                    left -= inner.len();
                    open.extend(inner.iter().map(|&it| (it.clone(), depth + 1)));
                }
            }
            seen.insert(directory, now);
        }
        if let Some(beside) = own_home.and_then(Path::parent)
            && !protected.homes().iter().any(|home| home == beside)
            && let Some(now) = self.read(beside, protected)
        {
            let beside = now.directories.iter().filter(|it| !skipped.contains(*it) && is_assistants_home(it));
            found.homes.extend(beside.cloned());
            seen.insert(own_home.and_then(Path::parent).unwrap_or(Path::new("/")).to_path_buf(), now);
        }
        self.0 = seen;
        found.files.sort();
        found.homes.sort();
        found.homes.dedup();
        found
    }

    /// Returns the direct entries of a directory; `None` if it cannot be read.
    fn read(&mut self, directory: &Path, protected: &ProtectedPaths) -> Option<Seen> {
        // Taken before reading, so that a change meanwhile is noticed the next time.
        let stamp = Stamp::of(directory)?;
        if let Some(seen) = self.0.remove(directory).filter(|seen| seen.stamp == stamp) {
            return Some(seen);
        }
        let mut seen =
            Seen { stamp, files: Vec::new(), directories: Vec::new(), is_project: false, is_whole: true };
        for (place, entry) in fs::read_dir(directory).ok()?.enumerate() {
            let Some(entry) = entry.ok().filter(|_| place < MAX_ENTRIES) else {
                seen.is_whole = false;
                break;
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            seen.is_project |= PROJECT.split(' ').any(|mark| mark == name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => seen.directories.push(entry.path()),
                Ok(kind) if kind.is_file() && protected.is_secret_name(name) => seen.files.push(entry.path()),
                _ => {}
            }
        }
        Some(seen)
    }
}

fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::options::Options;

    #[test]
    fn keys_and_copies_are_found_near_the_top_and_not_in_projects() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in [
            "ada/.env",
            "ada/keys/work/id_rsa",
            "ada/Documents/all.kdbx",
            "ada/.vpn/office.ovpn",
            "ada/a/b/c/deep.pem",
            "ada/project/package.json",
            "ada/project/.env",
            "ada/notes.md",
            "ada/.aethon/workspace/x.pem",
            "ada/.aethon.old/aethon.db",
            "ada/.aethon.old/credentials/openai",
            "ada/backups/monday/aethon.db",
            "ada/backups/monday/credentials/openai",
            "srv/copy/aethon.db",
            "srv/copy/credentials/openai",
            "srv/other/aethon.db",
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        let protected =
            ProtectedPaths::new(&Options { user_home: Some(base.join("ada")), ..Options::default() });
        let skipped = HashSet::from([base.join("ada/.aethon")]);
        let mut scan = Scan::default();
        let mut find = || {
            let found = scan.find(&protected, Some(&base.join("srv/own")), &skipped, Trust::Owner);
            let below = |paths: &[PathBuf]| {
                paths
                    .iter()
                    .map(|it| it.strip_prefix(&base).unwrap().display().to_string())
                    .collect::<Vec<_>>()
            };
            (below(&found.files), below(&found.homes))
        };
        let files = ["ada/.env", "ada/.vpn/office.ovpn", "ada/Documents/all.kdbx", "ada/keys/work/id_rsa"];
        let homes = ["ada/.aethon.old", "ada/backups/monday", "srv/copy"];
        assert_eq!(find(), (files.map(str::to_owned).into(), homes.map(str::to_owned).into()));
        // What changes is found by the next search.
        fs::remove_file(base.join("ada/.env")).unwrap();
        fs::remove_file(base.join("srv/copy/aethon.db")).unwrap();
        fs::write(base.join("ada/keys/work/new.pem"), "x").unwrap();
        let (files, homes) = find();
        assert!(files.contains(&"ada/keys/work/new.pem".into()) && !files.contains(&"ada/.env".into()));
        assert_eq!(homes, ["ada/.aethon.old", "ada/backups/monday"]);
    }
    /// The closed places in a home with the key `stuff/server.pem` after a change, in a turn of this trust.
    fn closed_after(trust: Trust, change: impl FnOnce(&Path)) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir(base.join("stuff")).unwrap();
        fs::write(base.join("stuff/server.pem"), "x").unwrap();
        let options = Options { user_home: Some(base.clone()), ..Options::default() };
        let protected = ProtectedPaths::new(&options);
        let mut scan = Scan::default();
        scan.find(&protected, None, &HashSet::new(), trust);
        change(&base);
        let found = scan.find(&protected, None, &HashSet::new(), trust);
        fs::set_permissions(base.join("stuff"), fs::Permissions::from_mode(0o755)).unwrap();
        let all = found.files.iter().chain(&found.unsearched);
        all.map(|it| it.strip_prefix(&base).unwrap().display().to_string()).collect()
    }

    #[test]
    fn new_project_opens_its_keys_to_the_owner_only() {
        for (trust, expected) in [
            (Trust::Owner, &[][..]),
            (Trust::Outside, &["stuff/server.pem"]),
            (Trust::Guest, &["stuff/server.pem"]),
        ] {
            let closed = closed_after(trust, |base| fs::write(base.join("stuff/Makefile"), "all:").unwrap());
            assert_eq!(closed, expected, "{trust:?}");
        }
    }

    #[test]
    fn unfinished_folders_are_closed_as_a_whole_to_strangers() {
        let fill = |folder: PathBuf, count: usize| {
            (0..count).for_each(|n| fs::create_dir_all(folder.join(format!("x{n}"))).unwrap());
        };
        let closed = closed_after(Trust::Outside, |base| fill(base.join("zz"), MAX_DIRECTORIES_OF_STRANGERS));
        assert_eq!(closed, ["stuff/server.pem", "zz"], "a flood takes nothing from its neighbours");
        if rustix::process::geteuid().is_root() {
            // Root reads everything.
            return;
        }
        let closed = closed_after(Trust::Outside, |base| {
            // Who knows the name of a file in it can still open it.
            fs::set_permissions(base.join("stuff"), fs::Permissions::from_mode(0o111)).unwrap();
        });
        assert_eq!(closed, ["stuff"]);
    }
}
