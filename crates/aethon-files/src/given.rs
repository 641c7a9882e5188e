//! Reads a file that the owner named: in the configuration, on the command line, or by its fixed place in the home. It
//! may be a link, because the owner made it; it may still be a FIFO by mistake, or far too large.

use std::fs::File;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, openat};

use crate::directory::{Contents, read_bounded};
use crate::refusal::Refusal;
use crate::stamp::Stamp;

/// Reads the first `limit` bytes of a file by its path; `None` if there is none. Links are followed. Never waits for the
/// other end of a FIFO.
///
/// # Errors
///
/// It is no regular file, or it cannot be read.
pub fn read_given(path: &Path, limit: usize) -> Result<Option<Contents>, Refusal> {
    let flags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::NXIO) => return Err(Refusal::Kind("a socket")),
        Err(error) => return Err(error.into()),
    };
    let stamp = Stamp::of(&file)?;
    if stamp.kind() != FileType::RegularFile {
        return Err(Refusal::of(stamp.kind()));
    }
    read_bounded(file, limit, stamp).map(Some)
}
