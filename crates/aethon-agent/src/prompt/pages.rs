//! The workspace pages that the owner writes for the assistant, reread when they change.
//!
//! Any tool or command may replace them at any moment: with a link to a private key, a FIFO, a file without end. So a
//! page is opened beneath the workspace and judged once it is open; only plain files are used.

use std::path::Path;

use aethon_files::{Directory, Stamp};

use aethon_core::instructions::Observed;
use aethon_core::reported::Reported;

/// The most bytes of a page that are used.
const MAX_BYTES: usize = 64 * 1024;

/// A page, and its state when it was last read.
#[derive(Debug)]
pub(super) struct Page {
    name: &'static str,
    stamp: Option<Stamp>,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Nothing,
    Text(String),
    /// A file that is not read, and its kind.
    Unusable(String),
}

impl Page {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, stamp: None, found: Found::Nothing }
    }

    /// Reads the page again if something has changed; returns whether that was so. `workspace` is the open directory
    /// and its path for the log. Usually one look at the file's state, about a microsecond.
    pub(super) fn refresh(
        &mut self,
        workspace: (Option<&Directory>, &Path),
        reported: &mut Reported,
    ) -> bool {
        let (directory, path) = workspace;
        let stamp = directory.and_then(|directory| directory.stamp_of(self.name));
        if stamp == self.stamp {
            return false;
        }
        self.stamp = stamp;
        let path = path.join(self.name);
        self.found = match directory.map(|directory| directory.read(self.name, MAX_BYTES)) {
            None | Some(Ok(None)) => Found::Nothing,
            Some(Ok(Some(contents))) => {
                self.stamp = Some(contents.stamp);
                if !contents.is_whole {
                    reported.warn(&path, &format!("only the first {MAX_BYTES} bytes of this page are used"));
                }
                let text = String::from_utf8_lossy(&contents.bytes);
                Found::Text(text.trim_start_matches('\u{feff}').trim().to_owned())
            }
            Some(Err(refusal)) => {
                reported.warn(&path, &format!("this page is not used: {refusal}"));
                Found::Unusable(refusal.to_string())
            }
        };
        true
    }

    /// Returns its text; `None` if the page is absent, empty or not used.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.found {
            Found::Text(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
            Found::Nothing | Found::Unusable(_) => None,
        }
    }

    /// Returns its name, and the observation to report to an owner.
    pub(super) fn observed(&self) -> Option<(String, Observed)> {
        let observed = match &self.found {
            Found::Nothing => return None,
            Found::Text(text) if text.is_empty() => return None,
            Found::Text(text) => Observed::Text(text.clone()),
            Found::Unusable(why) => Observed::Unusable(why.clone()),
        };
        Some((self.name.to_owned(), observed))
    }
}
