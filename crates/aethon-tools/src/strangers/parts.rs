//! The part of the workspace that is left to commands of strangers' turns: everything but files that act later, by entry.
//!
//! A sandbox mounts the workspace for reading only and these parts over it for writing. So entries made, renamed or
//! replaced later beside them are for reading only, too.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::projects::{DEPTH_IN_WORKSPACE, Projects, Root};
use super::shaping::shaping_places;
#[cfg(target_os = "linux")]
pub(crate) use crate::confine::mounted_below;
use crate::options::Options;
use crate::protected_paths::ProtectedPaths;

/// Maximum number of parts, and of bytes in their paths: each is a mount, which takes a docker daemon milliseconds, and the
/// kernel's sandbox gets them as an argument. What exceeds it cannot be changed.
const MAX_PARTS: usize = 400;
const MAX_BYTES: usize = 64 << 10;

/// The parts of one workspace. Finds them again for each command, because projects come and go.
#[derive(Debug)]
pub(crate) struct ChangeableParts {
    protected: ProtectedPaths,
    projects: Mutex<Projects>,
}

impl ChangeableParts {
    /// The parts of the workspace of these options.
    pub(crate) fn new(options: &Options) -> Self {
        Self { protected: ProtectedPaths::new(options), projects: Mutex::default() }
    }

    /// Returns what may be changed of the workspace with this real path. Blocks.
    pub(crate) fn now(&self, workspace: &Path) -> Vec<PathBuf> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        let mut closed =
            projects.find(&self.protected, &[Root { folder: workspace, depth: DEPTH_IN_WORKSPACE }]);
        closed.extend(shaping_places(workspace));
        // A container does not see it. If its place were in a part, a command's files would get lost.
        closed.extend(mounted_below(workspace));
        parts(workspace, &closed)
    }
}

/// Other systems have no table of mounts that could be read.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mounted_below(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Returns the topmost entries of a workspace that neither are one of these places nor hold one.
pub(crate) fn parts(workspace: &Path, closed: &[PathBuf]) -> Vec<PathBuf> {
    let closed: HashSet<&Path> = closed.iter().map(PathBuf::as_path).collect();
    if closed.contains(workspace) {
        return Vec::new();
    }
    let above: HashSet<&Path> = closed.iter().flat_map(|place| place.ancestors().skip(1)).collect();
    let (mut folders, mut files, mut open) = (Vec::new(), Vec::new(), vec![workspace.to_path_buf()]);
    let device = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.dev());
    let own = device(workspace);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // The target of a link is judged at its own place.
            let Ok(kind) = entry.file_type() else { continue };
            // A mount in the workspace is indistinguishable from the target of a link.
            if closed.contains(path.as_path()) || device(&path) != own {
                continue;
            }
            if kind.is_dir() && above.contains(path.as_path()) {
                open.push(path);
            } else if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    folders.sort();
    files.sort();
    let mut bytes = 0;
    let fits = |path: &PathBuf| {
        bytes += path.as_os_str().len() + 3;
        bytes <= MAX_BYTES
    };
    folders.into_iter().chain(files).take(MAX_PARTS).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::super::projects::Limits;
    use super::*;

    #[test]
    fn parts_exclude_places_that_act_later() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in [
            "SOUL.md",
            "sops/x.md",
            "notes.md",
            "work/deep/x",
            "app/.git/config",
            "app/src/x",
            "app/main.rs",
            "other/.envrc",
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), "x").unwrap();
        }
        std::os::unix::fs::symlink("work", base.join("link")).unwrap();
        let options = Options { workspace: base.clone(), ..Options::default() };
        let found = ChangeableParts::new(&options).now(&base);
        let found: Vec<_> =
            found.iter().map(|it| it.strip_prefix(&base).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, ["app/src", "work", "app/main.rs", "notes.md"]);
    }

    #[test]
    fn parts_are_bounded_and_folders_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        (0..MAX_PARTS + 5).for_each(|number| fs::write(base.join(format!("a{number}")), "").unwrap());
        fs::create_dir(base.join("z")).unwrap();
        let found = parts(&base, &[]);
        assert!(found.len() <= MAX_PARTS && found[0] == base.join("z"));
    }

    #[test]
    fn a_flood_of_folders_makes_no_part_of_what_projects_obey() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in ["clients/acme/app/.git/hooks", "clients/acme/app/src", "notes", "work"] {
            fs::create_dir_all(base.join(path)).unwrap();
        }
        let options = Options { workspace: base.clone(), ..Options::default() };
        let limits = Limits { directories: 50, entries: 60 };
        let projects = Mutex::new(Projects::within(limits));
        let changeable = ChangeableParts { protected: ProtectedPaths::new(&options), projects };
        let now = || {
            let found = changeable.now(&base);
            found.iter().map(|it| it.strip_prefix(&base).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(now(), ["clients/acme/app/src", "notes", "work"]);
        (0..50).for_each(|number| fs::create_dir(base.join(format!("notes/x{number}"))).unwrap());
        assert_eq!(now(), ["clients/acme/app/src", "work"], "the flooded folder is no part any more");
        (0..50).for_each(|number| fs::create_dir(base.join(format!("x{number}"))).unwrap());
        assert!(now().is_empty());
    }
}
