//! The workspace pages that the owner writes for the assistant, reread when they change.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most bytes of a page that are used.
const LONGEST: u64 = 64 * 1024;

/// A page, and its text when it was last read.
#[derive(Debug)]
pub(super) struct Page {
    path: PathBuf,
    stamp: Option<Stamp>,
    text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Page {
    pub(super) fn new(workspace: &Path, name: &str) -> Self {
        Self { path: workspace.join(name), stamp: None, text: None }
    }

    /// Whether the file has changed since it was read. One metadata lookup, about a microsecond.
    pub(super) fn has_changed(&self) -> bool {
        self.stamp_on_disk() != self.stamp
    }

    /// Reads the page. An unreadable page counts as absent, and is logged.
    pub(super) fn read(&mut self) {
        self.stamp = self.stamp_on_disk();
        self.text = None;
        if self.stamp.is_none() {
            return;
        }
        let mut bytes = Vec::new();
        match File::open(&self.path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)) {
            Ok(_) => self.text = Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "a page of the workspace cannot be read");
            }
        }
    }

    /// Returns its text; `None` if the page is absent or empty.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref().filter(|text| !text.is_empty())
    }

    fn stamp_on_disk(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.path).ok().filter(std::fs::Metadata::is_file)?;
        Some(Stamp { modified: metadata.modified().ok(), length: metadata.len() })
    }
}
