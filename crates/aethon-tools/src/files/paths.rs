//! Paths as text, before anything is opened: as written, and with symlinks resolved.

use std::path::{Component, Path, PathBuf};

/// Maximum length of a path.
pub(super) const MAX_PATH: usize = 4096;

/// Removes `.` and `..` from a path, judging by its text only.
pub(crate) fn lexical(path: &Path) -> PathBuf {
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

/// Resolves symlinks as far as the path exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        _ => path.to_path_buf(),
    }
}

/// Returns whether every component of the path goes down.
pub(super) fn is_straight(path: &Path) -> bool {
    path.components().all(|part| !matches!(part, Component::ParentDir | Component::CurDir))
}

/// Returns whether a path is usable at all.
pub(super) fn is_sound(path: &str) -> bool {
    !path.trim().is_empty() && path.len() <= MAX_PATH && !path.contains('\0')
}
