//! A directory by name in another: the workspace's `sops/`, say. The outer one is a place that the owner chose; the
//! inner one may have been replaced by anybody.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::directory::Directory;
use crate::refusal::Refusal;

/// A directory in another one, opened again for each use. It need not exist.
#[derive(Debug, Clone)]
pub struct Subdirectory {
    path: PathBuf,
    outer: PathBuf,
    name: OsString,
}

impl Subdirectory {
    /// The last part of this path, in the directory before it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let outer = path.parent().filter(|outer| !outer.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or(OsStr::new("."));
        Self { outer: outer.to_owned(), name: name.to_owned(), path }
    }

    /// Returns its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// It is a link or no directory, or it may not be opened.
    pub fn open(&self) -> Result<Option<Directory>, Refusal> {
        match Directory::open(&self.outer) {
            Ok(outer) => outer.inner(&self.name),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens it, and creates it and the directories before it if they do not exist.
    ///
    /// # Errors
    ///
    /// It is a link or no directory, or it cannot be created or opened.
    pub fn open_or_new(&self) -> Result<Directory, Refusal> {
        let outer = match Directory::open(&self.outer) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.outer)?;
                Directory::open(&self.outer)
            }
            opened => opened,
        };
        outer?.inner_or_new(&self.name)
    }
}
