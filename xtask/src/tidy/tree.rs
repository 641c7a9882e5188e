//! The workspace as data: files, manifests and the locked packages. Rules look only at a `Tree`, so that their tests can make
//! one up.

use super::manifest::{Locked, Manifest};
use super::source::RustSource;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Folders without files of ours.
const SKIPPED: [&str; 3] = ["target", "node_modules", ".git"];

/// The types of files that some rule reads.
const READ: [&str; 10] = ["rs", "toml", "js", "css", "html", "md", "sh", "sql", "lock", "svg"];

/// The input of all rules.
#[derive(Default)]
pub(crate) struct Tree {
    /// The files, sorted by path.
    pub(crate) files: Vec<File>,
    /// The packages of the workspace.
    pub(crate) manifests: Vec<Manifest>,
    /// The third-party packages in `Cargo.lock`.
    pub(crate) locked: Vec<Locked>,
    /// Files that could not be parsed, and why.
    pub(crate) unreadable: Vec<(String, String)>,
}

/// One file.
pub(crate) struct File {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
    /// The parsed source, for `.rs`.
    pub(crate) rust: Option<RustSource>,
}

impl Tree {
    /// Reads the workspace at `root`; `locked` comes from `cargo metadata`.
    pub(crate) fn read(root: &Path, locked: Vec<Locked>) -> Result<Self> {
        let mut found = Vec::new();
        collect(root, root, &mut found)?;
        found.sort();
        let mut tree = Self { locked, ..Self::default() };
        for (path, text) in found {
            tree.add(path, text);
        }
        Ok(tree)
    }

    /// A tree of made-up files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add((*path).to_owned(), (*text).to_owned());
        }
        tree
    }

    /// The content of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Every Rust file with its parsed source.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &RustSource)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    /// The package of a file: the one with the longest folder that contains it.
    pub(crate) fn package_of(&self, path: &str) -> Option<&Manifest> {
        let holds = |manifest: &&Manifest| {
            path.strip_prefix(manifest.folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        self.manifests.iter().filter(holds).max_by_key(|manifest| manifest.folder.len())
    }

    fn add(&mut self, path: String, text: String) {
        let mut rust = None;
        if path.ends_with(".rs") {
            match RustSource::parse(&text, is_test_file(&path)) {
                Ok(source) => rust = Some(source),
                Err(reason) => self.unreadable.push((path.clone(), reason)),
            }
        } else if path.ends_with("Cargo.toml") {
            match Manifest::parse(&path, &text) {
                Ok(manifest) => self.manifests.extend(manifest),
                Err(reason) => self.unreadable.push((path.clone(), reason)),
            }
        }
        self.files.push(File { path, text, rust });
    }
}

/// Returns whether a file is built for tests only.
fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/")
        || ["/tests/", "/benches/", "/testkit/"].iter().any(|folder| path.contains(folder))
        || ["/tests.rs", "/testkit.rs"].iter().any(|name| path.ends_with(name))
}

/// Returns whether a file is third-party and kept unchanged.
pub(crate) fn is_vendored(path: &str) -> bool {
    path.split('/').any(|part| part == "vendor")
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !SKIPPED.contains(&name) {
                collect(root, &path, found)?;
            }
            continue;
        }
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if !READ.contains(&kind) {
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        found.push((relative, String::from_utf8_lossy(&bytes).into_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_innermost_package() {
        let tree = Tree::of(&[
            ("crates/aethon/Cargo.toml", "[package]\nname = \"aethon\""),
            ("crates/aethon-core/Cargo.toml", "[package]\nname = \"aethon-core\""),
        ]);
        let of = |path: &str| tree.package_of(path).map(|manifest| manifest.name.as_str());
        assert_eq!(of("crates/aethon-core/src/lib.rs"), Some("aethon-core"));
        assert_eq!(of("crates/aethon/src/lib.rs"), Some("aethon"));
        assert_eq!(of("README.md"), None);
    }

    #[test]
    fn a_tree_is_read_from_disk_without_build_output() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("target/debug")).unwrap();
        fs::create_dir_all(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("target/debug/a.rs"), "//! no").unwrap();
        fs::write(folder.path().join("src/b.rs"), "//! yes").unwrap();
        fs::write(folder.path().join("src/c.png"), "no").unwrap();
        let tree = Tree::read(folder.path(), Vec::new()).unwrap();
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/b.rs"]);
    }

    #[test]
    fn unparsable_file_is_listed() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", "fn {")]);
        assert_eq!(tree.unreadable.len(), 1);
    }
}
