//! Files that are being written beside the one that they will replace.
//!
//! Their writer holds a lock on them, which ends with its process. So a later writer recognises by the name what an earlier
//! one was writing, and by the lock whether that one still lives; what nobody writes any more is removed.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, Mode, fchmod, fstat, unlinkat};

use crate::beneath;

/// How the names of such files begin.
pub(crate) const PREFIX: &str = ".aethon-new-";

/// How many names are tried.
const ATTEMPTS: usize = 8;

/// The most entries of a directory among which abandoned files are looked for.
const MAX_ENTRIES: usize = 4_096;

/// Creates a file of a name that nobody can guess in a directory, and removes those that a killed writer left there.
///
/// # Errors
///
/// It cannot be created.
pub fn create(directory: impl AsFd, mode: Mode) -> io::Result<(File, OsString)> {
    sweep(&directory);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..ATTEMPTS {
        // Every `RandomState` has keys of its own.
        let name = OsString::from(format!("{PREFIX}{:016x}", RandomState::new().build_hasher().finish()));
        let file = match beneath::created(&directory, &name, mode) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                last = error;
                continue;
            }
            Err(error) => return Err(error),
        };
        fchmod(&file, mode)?;
        // A file system without locks keeps abandoned files, and nothing else.
        let _ = file.lock();
        // Another writer may have taken it for an abandoned one before it was locked.
        if fstat(&file)?.st_nlink > 0 {
            return Ok((file, name));
        }
    }
    Err(last)
}

/// Removes what no writer holds any more. What cannot be removed is harmless.
fn sweep(directory: &impl AsFd) {
    let Ok(entries) = Dir::read_from(directory.as_fd()) else { return };
    for entry in entries.take(MAX_ENTRIES).filter_map(Result::ok) {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if !name.as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        if let Ok(file) = beneath::readable(directory, name)
            && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}
