//! The files in a ZIP, each read within a bound.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::encoding;
use crate::error::Error;
use crate::xml::{self, Node};

/// The most bytes that one file may unpack to.
const MAX_FILE: u64 = 64 << 20;
/// The most bytes that all files that are read may unpack to.
const MAX_ALL: u64 = 256 << 20;
/// The most files in a package.
const MAX_FILES: usize = 50_000;

/// A package that is open.
pub(crate) struct Package<'b> {
    archive: ZipArchive<Cursor<&'b [u8]>>,
    left: u64,
}

impl<'b> Package<'b> {
    pub(crate) fn open(bytes: &'b [u8]) -> Result<Self, Error> {
        let archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|fault| Error::damaged("its archive", fault))?;
        if archive.len() > MAX_FILES {
            return Err(Error::new(format!(
                "it holds {} files, and at most {MAX_FILES} are read",
                archive.len()
            )));
        }
        Ok(Self { archive, left: MAX_ALL })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Returns whether any file is below this folder.
    pub(crate) fn has_below(&self, folder: &str) -> bool {
        self.archive.file_names().filter_map(Result::ok).any(|name| name.starts_with(folder))
    }

    /// Returns the media type that the package names, as e-books and OpenDocument do.
    pub(crate) fn mimetype(&mut self) -> Option<String> {
        let bytes = self.bytes("mimetype").ok()??;
        Some(String::from_utf8_lossy(&bytes).trim().to_ascii_lowercase())
    }

    /// Reads a file; `None` if there is none of this name.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let file = match self.archive.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(why)) if why == ZipError::PASSWORD_REQUIRED => {
                return Err(Error::needs_password());
            }
            Err(fault) => return Err(Error::damaged(&format!("its part {name}"), fault)),
        };
        let most = MAX_FILE.min(self.left);
        let mut bytes = Vec::new();
        // The size in its header may be a lie.
        file.take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|fault| Error::damaged(&format!("its part {name}"), fault))?;
        let length = bytes.len() as u64;
        if length > most {
            return Err(Error::new(format!("its part {name} unpacks to more than {} MiB", most >> 20)));
        }
        self.left -= length;
        Ok(Some(bytes))
    }

    /// Reads a file of text; `None` if there is none of this name.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.bytes(name)?.map(|bytes| encoding::page(&bytes).into_owned()))
    }

    /// Reads the relations of a part of an office document: by id, the kind and the target of each.
    pub(crate) fn relations(&mut self, part: &str) -> BTreeMap<String, Relation> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let mut found = BTreeMap::new();
        let Ok(Some(text)) = self.text(&beside(folder, &format!("_rels/{name}.rels"))) else { return found };
        let read = xml::walk(&text, &mut |node| {
            if let Node::Start(tag) = node
                && tag.is("Relationship")
                && let (Some(id), Some(target)) = (tag.attribute("Id"), tag.attribute("Target"))
            {
                let kind = tag.attribute("Type").unwrap_or_default();
                let is_outside = tag.attribute("TargetMode").is_some_and(|mode| mode == "External");
                let target = if is_outside { target } else { beside(folder, &target) };
                found.insert(id, Relation { kind, target, is_outside });
            }
            true
        });
        // Those before the damage are enough.
        drop(read);
        found
    }
}

/// A reference from one part of an office document to another.
pub(crate) struct Relation {
    kind: String,
    pub(crate) target: String,
    pub(crate) is_outside: bool,
}

impl Relation {
    /// Returns whether it is of the kind whose name ends so.
    pub(crate) fn is(&self, kind: &str) -> bool {
        !self.is_outside && self.kind.rsplit('/').next() == Some(kind)
    }
}

/// Resolves a path against a folder of the package.
pub(crate) fn beside(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_package() {
        for (folder, path, expected) in [
            ("ppt/slides", "../media/a.png", "ppt/media/a.png"),
            ("word", "/word/b.xml", "word/b.xml"),
            ("", "a/./b", "a/b"),
            ("a", "../../../etc/passwd", "etc/passwd"),
        ] {
            assert_eq!(beside(folder, path), expected);
        }
    }
}
