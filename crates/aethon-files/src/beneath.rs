//! Opens paths step by step: from a directory down to a name, each step relative to the previous handle and never
//! through a symlink. Between check and use a name can be replaced; if a step meets a symlink, it fails.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Never follows a final symlink, never waits for the other end of a FIFO, never acquires a terminal.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a directory by its real path, which must be `base` or below it. With `make`, missing directories are created
/// with this mode.
pub fn directory(base: &Path, real: &Path, make: Option<Mode>) -> io::Result<OwnedFd> {
    let below = real.strip_prefix(base).map_err(io::Error::other)?;
    let mut handle = openat(CWD, base, DIRECTORY, Mode::empty())?;
    for part in below.components() {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::NotFound.into()) };
        handle = step(&handle, name, make)?;
    }
    Ok(handle)
}

fn step(handle: &OwnedFd, name: &OsStr, make: Option<Mode>) -> io::Result<OwnedFd> {
    match (openat(handle, name, DIRECTORY, Mode::empty()), make) {
        (Err(rustix::io::Errno::NOENT), Some(mode)) => {
            match mkdirat(handle, name, mode) {
                // If another process created it meanwhile, it is opened like any other.
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(openat(handle, name, DIRECTORY, Mode::empty())?)
        }
        (opened, _) => Ok(opened?),
    }
}

/// Opens an entry of a directory as a directory.
pub fn inner(handle: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(handle, name, DIRECTORY, Mode::empty())?)
}

/// Opens an entry of a directory for reading, whatever it is.
pub fn readable(handle: impl AsFd, name: &OsStr) -> io::Result<File> {
    Ok(File::from(openat(handle, name, OFlags::RDONLY.union(FILE), Mode::empty())?))
}

/// Opens an existing entry of a directory for writing, whatever it is.
pub(crate) fn writable(handle: impl AsFd, name: &OsStr) -> io::Result<File> {
    Ok(File::from(openat(handle, name, OFlags::WRONLY.union(FILE), Mode::empty())?))
}

/// Creates a new file in a directory.
pub fn created(handle: impl AsFd, name: &OsStr, mode: Mode) -> io::Result<File> {
    let flags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(FILE);
    Ok(File::from(openat(handle, name, flags, mode)?))
}

/// Returns the operating system's path of an open file.
#[cfg(target_os = "linux")]
pub fn real_path(file: impl AsFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// Returns the operating system's path of an open file.
#[cfg(not(target_os = "linux"))]
pub fn real_path(file: impl AsFd) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}
