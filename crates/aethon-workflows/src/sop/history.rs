//! What SOPs said before: the last texts of each one, in a folder of the assistant's home that no tool can reach.
//!
//! A text is kept when another takes its place through the program, or when its SOP is removed; so a removal can be
//! undone, and so can a change that came from somewhere else. Edits by hand are not kept.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::sop::{SopName, SopVersion};
use aethon_files::{Directory, Lock, Refusal, Subdirectory};
use jiff::Timestamp;

use super::parse::MAX_BYTES;

/// How many earlier texts of a SOP are kept.
const KEPT: usize = 20;

/// The ending of their files, whose names are the times at which the texts were replaced.
const ENDING: &str = ".md";

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1_000;

/// The earlier texts of SOPs, and the lock under which SOPs are written.
#[derive(Clone)]
pub struct SopHistory {
    folder: PathBuf,
    locks: PathBuf,
    clock: Arc<dyn Clock>,
}

impl SopHistory {
    /// Keeps the texts in a folder, which is created if need be. Programs that write SOPs exclude each other by a file in
    /// the folder of locks, which must exist.
    pub fn new(folder: impl Into<PathBuf>, locks: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self { folder: folder.into(), locks: locks.into(), clock }
    }

    /// Keeps other programs from writing SOPs while it is held.
    pub(super) fn lock(&self) -> io::Result<Lock> {
        Lock::take(&self.locks, "sops")
    }

    /// Keeps a text, and drops the oldest beyond the limit.
    pub(super) fn keep(&self, name: &SopName, content: &[u8]) -> io::Result<()> {
        let folder = Subdirectory::new(&self.folder).open_or_new().map_err(Refusal::into_io)?;
        let folder = folder.inner_or_new(name.as_str()).map_err(Refusal::into_io)?;
        let names = folder.names(ENDING, MAX_ENTRIES, MAX_ENTRIES)?;
        if let Some(newest) = names.last()
            && folder.read(newest, MAX_BYTES).is_ok_and(|kept| kept.is_some_and(|kept| kept.bytes == content))
        {
            // A program was killed between keeping the text and replacing it.
            return Ok(());
        }
        // Two texts of one millisecond, or of a clock that went back, stay in order.
        let newest = names.last().and_then(|name| millis(name)).unwrap_or(i64::MIN);
        let at = self.clock.now().as_millisecond().max(newest.saturating_add(1));
        folder.write(format!("{at:015}{ENDING}"), content)?;
        for old in names.iter().rev().skip(KEPT - 1) {
            folder.remove(old)?;
        }
        Ok(())
    }

    /// The earlier texts, newest first.
    pub(super) fn versions(&self, name: &SopName) -> io::Result<Vec<SopVersion>> {
        let Some(folder) = self.opened(name).map_err(Refusal::into_io)? else { return Ok(Vec::new()) };
        let names = folder.names(ENDING, MAX_ENTRIES, MAX_ENTRIES)?;
        let version = |name: &OsStr| {
            let replaced_at = Timestamp::from_millisecond(millis(name)?).ok()?;
            let contents = folder.read(name, MAX_BYTES).ok()??;
            Some(SopVersion { replaced_at, content: String::from_utf8_lossy(&contents.bytes).into_owned() })
        };
        Ok(names.iter().rev().take(KEPT).filter_map(|name| version(name)).collect())
    }

    fn opened(&self, name: &SopName) -> Result<Option<Directory>, Refusal> {
        match Subdirectory::new(&self.folder).open()? {
            Some(folder) => folder.inner(name.as_str()),
            None => Ok(None),
        }
    }
}

/// Returns the time in the name of a file.
fn millis(name: &OsStr) -> Option<i64> {
    name.to_str()?.strip_suffix(ENDING)?.parse().ok()
}
