//! Files that are being written beside the one that they will replace.
//!
//! Their writer holds a lock on them, which ends with its process. So a later writer recognises by the name the file of
//! an earlier one, and by the lock whether that one still lives; files without a writer are removed.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
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

/// Creates a file of an unguessable name in a directory, and removes those that a killed writer left there.
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
        while file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
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
        // For writing: NFS gives an exclusive lock to no other handle.
        if let Ok(file) = beneath::writable(directory, name)
            && is_abandoned(&file)
        {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Returns whether no writer holds a file. Where locks do not work, every file counts as held.
fn is_abandoned(file: &File) -> bool {
    file.try_lock().is_ok()
}

// The handle that takes no lock exists on Linux only.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{CWD, OFlags, openat};

    use super::*;

    #[test]
    fn a_file_whose_lock_does_not_work_counts_as_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        std::fs::write(&path, "half").unwrap();
        assert!(is_abandoned(&File::options().write(true).open(&path).unwrap()));
        // Such a handle takes no lock, like one on a file system without locks.
        let lockless = File::from(openat(CWD, &path, OFlags::PATH, Mode::empty()).unwrap());
        assert!(!is_abandoned(&lockless));
    }
}
