//! An open directory, and reading from it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::beneath;
use crate::refusal::Refusal;
use crate::stamp::Stamp;

/// A directory that stays the same one, whatever happens to its name.
#[derive(Debug)]
pub struct Directory {
    pub(crate) handle: OwnedFd,
}

/// The content read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The bytes, at most as many as asked for.
    pub bytes: Vec<u8>,
    /// Whether that is the whole file.
    pub is_whole: bool,
    /// The state of the file that was opened, before it was read.
    pub stamp: Stamp,
}

impl Directory {
    /// Opens a directory by its path. Links in the path are followed: only use this for places that the owner chose.
    ///
    /// # Errors
    ///
    /// There is no such directory, or it may not be opened.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
        Ok(Self { handle: openat(CWD, path, flags, Mode::empty())? })
    }

    /// Opens a directory in this one; `None` if nothing has that name.
    ///
    /// # Errors
    ///
    /// It is a link or no directory, or it may not be opened.
    pub fn inner(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>, Refusal> {
        let name = plain(name.as_ref())?;
        match beneath::inner(&self.handle, name) {
            Ok(handle) => Ok(Some(Self { handle })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            // Systems disagree on the error for a link where a directory is expected.
            Err(error) => match self.stamp_of(name).map(|stamp| stamp.kind()) {
                Some(FileType::Directory) | None => Err(error.into()),
                Some(other) => Err(Refusal::of(other)),
            },
        }
    }

    /// Returns the state of this directory. It changes whenever a name is added or removed.
    pub fn stamp(&self) -> Option<Stamp> {
        Stamp::of(&self.handle).ok()
    }

    /// Returns the state of an entry, of the link itself if it is one. It only says whether to read again.
    pub fn stamp_of(&self, name: impl AsRef<OsStr>) -> Option<Stamp> {
        Stamp::at(&self.handle, name).ok().flatten()
    }

    /// Reads the first `limit` bytes of a file; `None` if nothing has that name.
    ///
    /// # Errors
    ///
    /// It is a link, no regular file, or a file with a second name, or it cannot be read.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: usize) -> Result<Option<Contents>, Refusal> {
        let name = plain(name.as_ref())?;
        // Opening a device may have effects, so foreign types are not even opened. The check after opening decides.
        match self.stamp_of(name).map(|stamp| stamp.kind()) {
            None => return Ok(None),
            Some(FileType::RegularFile) => {}
            Some(other) => return Err(Refusal::of(other)),
        }
        match beneath::readable(&self.handle, name) {
            Ok(file) => contents(file, limit).map(Some),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Ok(None),
                Some(Errno::LOOP) => Err(Refusal::Link),
                Some(Errno::NXIO) => Err(Refusal::Kind("a socket")),
                _ => Err(error.into()),
            },
        }
    }

    /// Returns the names of at most `max` entries that end like this, sorted. Looks at no more than `scanned` entries, so
    /// that a directory with millions of them costs little.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn names(&self, ending: &str, max: usize, scanned: usize) -> std::io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.handle.as_fd())?.take(scanned) {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name.ends_with(ending.as_bytes()) {
                names.push(OsStr::from_bytes(name).to_owned());
                if names.len() == max {
                    break;
                }
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Judges an open file, and reads its first `limit` bytes.
pub(crate) fn contents(file: File, limit: usize) -> Result<Contents, Refusal> {
    let stamp = Stamp::of(&file)?;
    if stamp.kind() != FileType::RegularFile {
        return Err(Refusal::of(stamp.kind()));
    }
    if stamp.has_second_name() {
        return Err(Refusal::SecondName);
    }
    read_bounded(file, limit, stamp)
}

/// Reads the first `limit` bytes of a file.
pub(crate) fn read_bounded(file: File, limit: usize, stamp: Stamp) -> Result<Contents, Refusal> {
    let mut bytes = Vec::new();
    // One byte more distinguishes a file that is too large from one that just fits.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() <= limit;
    bytes.truncate(limit);
    Ok(Contents { bytes, is_whole, stamp })
}

/// Refuses a name that would lead elsewhere.
pub(crate) fn plain(name: &OsStr) -> Result<&OsStr, Refusal> {
    let leads_away = name.is_empty() || name == "." || name == ".." || name.as_bytes().contains(&b'/');
    if leads_away {
        return Err(Refusal::Failed(std::io::ErrorKind::InvalidInput.into()));
    }
    Ok(name)
}
