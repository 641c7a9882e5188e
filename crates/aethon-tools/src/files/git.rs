//! Protects what git executes: hooks and configuration of a repository are programs that wait for the owner's next `git
//! status`. So no file tool writes to a git directory, whatever its name: `.git`, a file of that name, or a folder
//! whose contents make git take it for a repository. `docs/decisions/0108-git-hygiene.md` says what this leaves to
//! others.

use std::path::{Path, PathBuf};

use super::paths::real;
use crate::protected_paths::{folded, is_within};

/// Configuration that git reads in every repository, relative to the person's home directory.
const OF_THE_PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];

/// Returns the git location, at or below `base`, that contains this real path, which need not exist yet.
pub(super) fn git_path_of(path: &Path, base: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let own = home.into_iter().flat_map(|home| OF_THE_PERSON.iter().map(|name| home.join(name)));
    // The file may be a symlink into a folder where the person keeps such files.
    let mut own = own.flat_map(|place| [real(&place), place]);
    if let Some(place) = own.find(|place| is_within(path, place)) {
        return Some(place);
    }
    let below = path.strip_prefix(base).ok()?;
    let mut folder = base.to_path_buf();
    for part in below.components() {
        if is_repository(&folder, path) {
            return Some(folder);
        }
        folder.push(part);
        if part.as_os_str().to_str().is_some_and(is_git) {
            return Some(folder);
        }
    }
    None
}

/// Returns whether some file system takes this name for `.git`: in another case, with invisible characters, or its
/// short form.
fn is_git(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let name = folded(&plain);
    name.trim_end_matches(['.', ' ']) == ".git" || name == "git~1"
}

/// Returns whether macOS file systems ignore a character when they compare names; git has the same list.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// What git looks for in a folder to take it for a repository.
pub(crate) const OF_REPOSITORIES: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// Returns whether git takes a folder with these entries for a repository: it has `HEAD`, and either objects and refs or, as
/// that of a worktree, a common directory.
pub(crate) fn makes_repository(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

/// Returns whether git takes this folder for a repository once `written` exists. So no sequence of writes creates a
/// repository whose configuration came from a tool.
fn is_repository(folder: &Path, written: &Path) -> bool {
    makes_repository(|name| {
        let place = folder.join(name);
        is_within(written, &place) || place.symlink_metadata().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_disk_takes_for_git_s_are_known() {
        for name in [".git", ".GIT", ".giT", "git~1", "GIT~1", ".g\u{200c}it", ".git.", ".git "] {
            assert!(is_git(name), "{name:?}");
        }
        for name in [".github", ".gitignore", ".gitmodules", "git", "x.git", ".git2", "git~2", "..git"] {
            assert!(!is_git(name), "{name:?}");
        }
    }
}
