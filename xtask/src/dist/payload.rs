//! The files of a package, in memory and in order.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Shared, because programs are large and have a place in each layout.
    pub(crate) content: Rc<[u8]>,
    pub(crate) is_program: bool,
}

/// Files by their path in the package, without a leading slash. Sorted, so that an archive of them is always the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Payload(pub(crate) BTreeMap<String, Entry>);

impl Payload {
    /// Adds a program.
    pub(crate) fn program(&mut self, path: &str, content: Vec<u8>) {
        self.0.insert(path.to_owned(), Entry { content: content.into(), is_program: true });
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        let content: Vec<u8> = content.into();
        self.0.insert(path.to_owned(), Entry { content: content.into(), is_program: false });
    }

    /// Adds all files below a folder, under this path.
    pub(crate) fn folder(&mut self, folder: &Path, under: &str) -> Result<()> {
        let listed = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in listed {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let inside = format!("{under}/{name}");
            if path.is_dir() {
                self.folder(&path, &inside)?;
            } else {
                self.file(
                    &inside,
                    fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?,
                );
            }
        }
        Ok(())
    }

    /// Returns the same files with other paths.
    pub(crate) fn placed(&self, place: impl Fn(&str) -> String) -> Self {
        Self(self.0.iter().map(|(path, entry)| (place(path), entry.clone())).collect())
    }

    /// The folders that the files are in, each before those inside it.
    pub(crate) fn folders(&self) -> Vec<String> {
        let mut folders = std::collections::BTreeSet::new();
        for path in self.0.keys() {
            folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        }
        folders.into_iter().collect()
    }
}
