//! What no file tool may open, wherever it is: system paths, keys and credentials, histories, the assistant's own
//! files.
//!
//! Paths are compared by name and by identity (device and inode), so that neither a hard link, nor another spelling on
//! a case-insensitive disk, nor a directory mounted elsewhere bypasses the list.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::protected_paths::{ProtectedPaths, folded, is_within};

/// System directories. Each counts only if it does not contain the workspace or the home directory.
const SYSTEM: [&str; 12] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var"];

/// Maximum number of entries in blocked directories that are searched for another name of a file.
const MAX_LINKS: usize = 50_000;

/// The blocklist of one assistant.
#[derive(Debug)]
pub(super) struct Blocklist {
    system: Vec<PathBuf>,
    protected: ProtectedPaths,
    own: Vec<PathBuf>,
    /// Identities of the blocked directories at startup, so that renaming one does not open it.
    directories: HashSet<Identity>,
}

/// Device and inode, which identify a file whatever its name.
type Identity = (u64, u64);

impl Blocklist {
    /// Creates the list from these places and the assistant's own files. Every path counts both as written and with
    /// symlinks resolved.
    pub(super) fn new(protected: ProtectedPaths, own: &[PathBuf]) -> Self {
        let existing = protected.paths().iter().chain(own).filter_map(|entry| fs::metadata(entry).ok());
        Self {
            system: SYSTEM.iter().map(PathBuf::from).collect(),
            directories: existing.filter(Metadata::is_dir).map(|metadata| identity(&metadata)).collect(),
            protected,
            own: own.to_vec(),
        }
    }

    /// Returns whether a path is blocked by its name. `base` is the directory in which it was looked up.
    pub(super) fn has_name(&self, path: &Path, base: &Path) -> bool {
        let mut system = self.system.iter().filter(|entry| !base.starts_with(entry));
        system.any(|entry| is_within(path, entry))
            || self.protected.has(path)
            || self.own.iter().any(|entry| is_own(path, entry))
    }

    /// Returns whether the owner has opened a place inside `place` that contains the path. Opening one of its ancestors
    /// does not count here.
    pub(super) fn is_opened_within(&self, path: &Path, place: &Path) -> bool {
        self.protected.allowed().any(|allowed| is_within(allowed, place) && is_within(path, allowed))
    }

    /// Returns the list of places.
    pub(super) fn protected(&self) -> &ProtectedPaths {
        &self.protected
    }

    /// Returns whether a directory on the way to this one, which was looked up in `base`, is a start-up place under
    /// another name.
    pub(super) fn is_start_up_folder(&self, folder: &Path, base: &Path) -> bool {
        let above = identities_above(folder, base);
        let places = self.protected.start_up().iter().chain(self.protected.programs());
        let mut existing = places.filter_map(|place| fs::metadata(place).ok());
        existing.any(|found| found.is_dir() && above.contains(&identity(&found)))
    }

    /// Returns the places that are closed now, for callers that check many files.
    pub(super) fn closed_now(&self) -> ClosedNow {
        let entries: Vec<PathBuf> = self.protected.paths().iter().chain(&self.own).cloned().collect();
        let existing = entries.iter().filter_map(|entry| fs::metadata(entry).ok());
        let known =
            existing.map(|metadata| identity(&metadata)).chain(self.directories.iter().copied()).collect();
        ClosedNow { entries, known, inside: OnceCell::new() }
    }

    /// Returns whether an open file, or a directory above it, is blocked under another name.
    pub(super) fn has_identity(&self, file: &Metadata, path: &Path, base: &Path) -> bool {
        let mut above = path.parent().map(|parent| identities_above(parent, base)).unwrap_or_default();
        if !above.is_disjoint(&self.directories) || self.protected.is_in_copied_home(path, base) {
            return true;
        }
        above.insert(identity(file));
        let entries = || self.protected.paths().iter().chain(&self.own);
        let mut existing = entries().filter_map(|entry| fs::metadata(entry).ok());
        if existing.any(|metadata| above.contains(&identity(&metadata))) {
            return true;
        }
        // A file with a single link cannot also be in a blocked directory, and directories have no hard links.
        !file.is_dir() && file.nlink() > 1 && {
            let mut left = MAX_LINKS;
            entries().any(|entry| holds(entry, identity(file), &mut left))
        }
    }
}

/// The places closed at one moment, by identity.
pub(super) struct ClosedNow {
    entries: Vec<PathBuf>,
    known: HashSet<Identity>,
    /// Contents of the closed places, collected when the first file with several links is met; `None` if there is too
    /// much.
    inside: OnceCell<Option<HashSet<Identity>>>,
}

impl ClosedNow {
    /// Returns whether a file is closed under another name. The caller has already checked the directories above it.
    pub(super) fn has(&self, found: &Metadata) -> bool {
        if self.known.contains(&identity(found)) {
            return true;
        }
        !found.is_dir() && found.nlink() > 1 && {
            let inside = self.inside.get_or_init(|| all_inside(&self.entries));
            inside.as_ref().is_none_or(|inside| inside.contains(&identity(found)))
        }
    }
}

/// Returns the identities of a directory and those above it, up to `base`.
fn identities_above(directory: &Path, base: &Path) -> HashSet<Identity> {
    let above = directory.ancestors().take_while(|ancestor| ancestor.starts_with(base));
    above.filter_map(|ancestor| fs::metadata(ancestor).ok()).map(|metadata| identity(&metadata)).collect()
}

/// Collects everything below these places; `None` if there is too much.
fn all_inside(places: &[PathBuf]) -> Option<HashSet<Identity>> {
    let (mut found, mut open) = (HashSet::new(), places.to_vec());
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if found.len() >= MAX_LINKS {
                return None;
            }
            found.insert(identity(&metadata));
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Some(found)
}

/// One of the assistant's own files includes its siblings with a longer name: journals, backups, half-written files.
fn is_own(path: &Path, entry: &Path) -> bool {
    if is_within(path, entry) {
        return true;
    }
    let (Some(parent), Some(name)) = (entry.parent(), entry.file_name().and_then(|name| name.to_str()))
    else {
        return false;
    };
    if !is_within(path, parent) {
        return false;
    }
    let first = path.components().nth(parent.components().count()).and_then(|part| part.as_os_str().to_str());
    let (first, name) = (folded(first.unwrap_or_default()), folded(name));
    let rest = first.strip_prefix(&name).or_else(|| first.strip_prefix('.')?.strip_prefix(&name));
    rest.is_some_and(|rest| rest.starts_with(['-', '.', '~']))
}

/// Returns whether a directory, or anything below it, contains this file under some name. If it is too large to search,
/// the answer is yes.
fn holds(entry: &Path, wanted: Identity, left: &mut usize) -> bool {
    let mut open = vec![entry.to_path_buf()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Some(fewer) = left.checked_sub(1) else { return true };
            *left = fewer;
            // Metadata of the entry itself: symlinks are not followed.
            let Ok(metadata) = entry.metadata() else { continue };
            if identity(&metadata) == wanted {
                return true;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    false
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn list(home: Option<&Path>, own: &[PathBuf]) -> Blocklist {
        let options = Options { user_home: home.map(Path::to_path_buf), ..Options::default() };
        Blocklist::new(ProtectedPaths::new(&options), own)
    }

    #[test]
    fn names_are_found_in_any_case_and_with_their_siblings() {
        let home = Path::new("/home/ada");
        let own = [PathBuf::from("/home/ada/.aethon/aethon.db"), PathBuf::from("/home/ada/.aethon/run")];
        let list = list(Some(home), &own);
        let check = |path: &str, expected: bool| {
            assert_eq!(list.has_name(Path::new(path), home), expected, "{path}");
        };
        check("/home/ada/notes.md", false);
        check("/home/ada/.ssh", true);
        check("/home/ada/.ssh/id_ed25519", true);
        check("/home/ada/.SSH/id_ed25519", true);
        check("/home/ada/.sshrc", false);
        check("/home/ada/project/.ssh/x", false);
        check("/home/ada/.config/gh/hosts.yml", true);
        check("/home/ada/.config/ghost", false);
        check("/home/ada/.python_history", true);
        check("/home/ada/.aethon/aethon.db", true);
        check("/home/ada/.aethon/aethon.db-wal", true);
        check("/home/ada/.aethon/aethon.db.bak", true);
        check("/home/ada/.aethon/.aethon.db.tmp", true);
        check("/home/ada/.AETHON/Aethon.DB-wal", true);
        check("/home/ada/.aethon/aethon.dbx", false);
        check("/home/ada/.aethon/run/lock", true);
        check("/home/ada/.aethon/workspace/a", false);
        check("/etc/passwd", true);
    }

    #[test]
    fn lookalike_letters_do_not_evade_the_list() {
        let home = Path::new("/home/ada");
        let own = [PathBuf::from("/home/ada/.aethon/kept.db")];
        let list = list(Some(home), &own);
        let check = |path: &str, expected: bool| {
            assert_eq!(list.has_name(Path::new(path), home), expected, "{path}");
        };
        check("/home/ada/.\u{17f}sh/id_ed25519", true);
        check("/home/ada/.\u{17f}\u{17f}h", true);
        check("/home/ada/.\u{212a}ube/config", true);
        check("/home/ada/.aethon/\u{212a}ept.db", true);
        check("/home/ada/.aethon/\u{212a}ept.db-wal", true);
        // No file system equates these with the plain letters: they are other files.
        check("/home/ada/.\u{ff53}\u{ff53}\u{ff48}/notes", false);
        check("/home/ada/.s\u{301}sh/notes", false);
        check("/home/ada/.ssh\u{200b}/notes", false);
    }

    #[test]
    fn a_system_directory_that_holds_the_base_does_not_count() {
        let base = Path::new("/var/lib/aethon/workspace");
        let list = list(Some(Path::new("/")), &[]);
        assert!(!list.has_name(&base.join("notes"), base));
        assert!(list.has_name(Path::new("/var/log/syslog"), Path::new("/")));
    }
}
