//! Paths as text, before anything is opened: how they are written, and what they are when links are followed.

use std::path::{Component, Path, PathBuf};

/// The longest path that is looked at.
pub(super) const LONGEST_PATH: usize = 4096;

/// The path without `.` and `..`, as far as its text tells.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The path with links followed, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        _ => path.to_path_buf(),
    }
}

/// Whether each step of the path goes down.
pub(super) fn is_straight(path: &Path) -> bool {
    path.components().all(|part| !matches!(part, Component::ParentDir | Component::CurDir))
}

/// Whether a path can be looked at.
pub(super) fn is_sound(path: &str) -> bool {
    !path.trim().is_empty() && path.len() <= LONGEST_PATH && !path.contains('\0')
}
