//! Computes the grants with which everything but a few places can be reached, and a few more can only be read.
//!
//! Landlock has no exceptions: a grant includes everything below. So the directories on the way to such a place are not
//! granted, but everything else in them is, entry by entry. Such a directory can be listed and traversed, but nothing
//! can be created, renamed or removed directly in it. That is also what keeps a place that does not exist yet from being
//! made.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The access of a command to a granted path and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    /// Read and execute.
    Read,
    /// Everything.
    Full,
}

/// The restrictions. All paths are real, and need not exist.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Closed for reading and writing. A file includes its siblings with a longer name.
    pub(super) closed: Vec<PathBuf>,
    /// Closed for writing.
    pub(super) read_only: Vec<PathBuf>,
    /// Directories whose own entries are closed for writing; directories in them are not.
    pub(super) programs: Vec<PathBuf>,
    /// Open after all, even in a closed place.
    pub(super) open: Vec<PathBuf>,
    /// Open for reading after all.
    pub(super) shown: Vec<PathBuf>,
    /// Whether everything else can be written.
    pub(super) is_writable: bool,
}

/// The result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Grants {
    /// The paths to grant.
    pub(super) granted: Vec<(PathBuf, Access)>,
    /// The directories that were granted entry by entry: while none of them changes, the result stays the same.
    pub(super) walked: Vec<PathBuf>,
}

/// Computes the grants.
pub(super) fn grants(places: &Places) -> Grants {
    let walk = Walk::new(places);
    let mut grants = Grants::default();
    let usual = if places.is_writable { Access::Full } else { Access::Read };
    walk.grant(Path::new("/"), usual, &mut grants);
    for shown in &places.shown {
        walk.grant(shown, Access::Read, &mut grants);
    }
    for open in &places.open {
        walk.grant(open, Access::Full, &mut grants);
    }
    grants
}

type Identity = (u64, u64);

struct Walk<'p> {
    closed: HashSet<&'p Path>,
    read_only: HashSet<&'p Path>,
    programs: HashSet<&'p Path>,
    /// Every directory above a place.
    above: HashSet<&'p Path>,
    /// Device and inode, so that another spelling of a name does not open the place.
    closed_identities: HashSet<Identity>,
    read_only_identities: HashSet<Identity>,
    /// The names of closed files, by directory.
    closed_files: HashMap<&'p Path, Vec<&'p str>>,
}

impl<'p> Walk<'p> {
    fn new(places: &'p Places) -> Self {
        let set = |paths: &'p [PathBuf]| paths.iter().map(PathBuf::as_path).collect::<HashSet<_>>();
        let existing = |paths: &'p [PathBuf]| {
            paths.iter().filter_map(|path| Some((path, fs::symlink_metadata(path).ok()?))).collect::<Vec<_>>()
        };
        let (closed, read_only) = (existing(&places.closed), existing(&places.read_only));
        let identities = |found: &[(&PathBuf, Metadata)]| found.iter().map(|(_, it)| identity(it)).collect();
        let directories: HashSet<&Path> =
            closed.iter().filter(|(_, found)| found.is_dir()).map(|(path, _)| path.as_path()).collect();
        let mut closed_files: HashMap<&Path, Vec<&str>> = HashMap::new();
        for path in places.closed.iter().filter(|path| !directories.contains(path.as_path())) {
            let name = path.file_name().and_then(|name| name.to_str());
            if let (Some(parent), Some(name)) = (path.parent(), name) {
                closed_files.entry(parent).or_default().push(name);
            }
        }
        let all = places.closed.iter().chain(&places.read_only).chain(&places.programs);
        let mut above: HashSet<&Path> = all.flat_map(|path| path.ancestors().skip(1)).collect();
        above.extend(places.programs.iter().map(PathBuf::as_path));
        Self {
            closed_identities: identities(&closed),
            read_only_identities: identities(&read_only),
            closed: set(&places.closed),
            read_only: set(&places.read_only),
            programs: set(&places.programs),
            above,
            closed_files,
        }
    }

    /// Grants a path, entry by entry if it holds a place.
    fn grant(&self, path: &Path, access: Access, grants: &mut Grants) {
        if !self.above.contains(path) {
            grants.granted.push((path.to_path_buf(), access));
            return;
        }
        grants.walked.push(path.to_path_buf());
        let holds_programs = self.programs.contains(path);
        // A directory that cannot be listed is skipped; the person could not list it either.
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            // Metadata of the entry itself: the target of a symlink is granted or not where it lies.
            let Ok(metadata) = entry.metadata() else { continue };
            let inner = entry.path();
            if metadata.is_symlink() || self.is_closed(&inner, &metadata) {
                continue;
            }
            let is_program = holds_programs && !metadata.is_dir();
            let access =
                if is_program || self.is_read_only(&inner, &metadata) { Access::Read } else { access };
            self.grant(&inner, access, grants);
        }
    }

    fn is_closed(&self, path: &Path, metadata: &Metadata) -> bool {
        self.closed.contains(path)
            || self.closed_identities.contains(&identity(metadata))
            || self.is_sibling(path)
    }

    fn is_read_only(&self, path: &Path, metadata: &Metadata) -> bool {
        self.read_only.contains(path) || self.read_only_identities.contains(&identity(metadata))
    }

    /// A closed file includes its siblings with a longer name: journals, backups, half-written files.
    fn is_sibling(&self, path: &Path) -> bool {
        let closed = path.parent().and_then(|parent| self.closed_files.get(parent));
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(closed), Some(name)) = (closed, name) else { return false };
        closed.iter().any(|first| {
            let rest = name.strip_prefix(first).or_else(|| name.strip_prefix('.')?.strip_prefix(first));
            rest.is_some_and(|rest| rest.starts_with(['-', '.', '~']))
        })
    }
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(base: &Path, grants: &Grants) -> Vec<(String, Access)> {
        let name = |(path, access): &(PathBuf, Access)| {
            Some((path.strip_prefix(base).ok()?.to_str()?.to_owned(), *access))
        };
        let mut found: Vec<_> = grants.granted.iter().filter_map(name).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn everything_but_the_closed_places_is_granted() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in [
            "ada/.aethon/workspace/a",
            "ada/.aethon/shown/a",
            "ada/.aethon/aethon.db",
            "ada/.aethon.rs",
            "ada/.ssh/id",
            "ada/.bashrc",
            "ada/bin/tool",
            "ada/bin/store/x",
            "ada/project/b",
            "bob/c",
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        fs::write(base.join("ada/own.toml"), "x").unwrap();
        fs::write(base.join("ada/own.toml.bak"), "x").unwrap();
        std::os::unix::fs::symlink(base.join("ada/.aethon"), base.join("ada/link")).unwrap();
        let at = |names: &[&str]| names.iter().map(|name| base.join(name)).collect::<Vec<_>>();
        let places = Places {
            closed: at(&["ada/.aethon", "ada/.ssh", "ada/own.toml"]),
            read_only: at(&["ada/.bashrc", "ada/.zshrc", "ada/.config/autostart"]),
            programs: at(&["ada/bin"]),
            open: at(&["ada/.aethon/workspace"]),
            shown: at(&["ada/.aethon/shown"]),
            is_writable: true,
        };
        let grants = grants(&places);
        let expected = [
            (".bashrc", Access::Read),
            // A neighbour of a closed directory is not part of it.
            (".aethon.rs", Access::Full),
            (".aethon/shown", Access::Read),
            (".aethon/workspace", Access::Full),
            ("bin/store", Access::Full),
            ("bin/tool", Access::Read),
            ("project", Access::Full),
        ];
        let mut expected: Vec<_> =
            expected.iter().map(|(name, access)| (format!("ada/{name}"), *access)).collect();
        expected.push(("bob".into(), Access::Full));
        expected.sort();
        assert_eq!(below(&base, &grants), expected);
        assert!(grants.granted.iter().any(|(path, _)| path == Path::new("/usr")));
        assert!(grants.walked.contains(&base.join("ada")));
    }

    #[test]
    fn nested_places_and_pages_keep_their_own_rule() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in ["git/config", "git/credentials", "work/SOUL.md", "work/notes.md", "work/deep/x"] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        let places = Places {
            closed: vec![base.join("git/credentials")],
            read_only: vec![base.join("git"), base.join("work/SOUL.md"), base.join("work/sops")],
            open: vec![base.join("work")],
            is_writable: true,
            ..Places::default()
        };
        let expected = [
            ("git/config", Access::Read),
            ("work/SOUL.md", Access::Read),
            ("work/deep", Access::Full),
            ("work/notes.md", Access::Full),
        ];
        let expected: Vec<_> = expected.map(|(name, access)| (name.to_owned(), access)).into();
        assert_eq!(below(&base, &grants(&places)), expected);
    }

    #[test]
    fn without_places_all_is_granted() {
        let places = |is_writable| Places { is_writable, open: vec!["/w".into()], ..Places::default() };
        let granted = |is_writable| grants(&places(is_writable)).granted;
        let root = PathBuf::from("/");
        assert_eq!(granted(true), [(root.clone(), Access::Full), ("/w".into(), Access::Full)]);
        assert_eq!(granted(false), [(root, Access::Read), ("/w".into(), Access::Full)]);
    }
}
