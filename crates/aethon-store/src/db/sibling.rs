//! The names of the files that SQLite and this crate keep beside a database.

use std::path::{Path, PathBuf};

/// Returns the path of a sibling file: the database's name with a suffix.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
