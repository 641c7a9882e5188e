//! The state of a file or directory at one moment, for noticing that it has changed.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use rustix::io::Errno;

/// The state of a file or directory: which one it is, its type, size and times. Equal stamps mean that nothing has
/// changed, unless it was within one tick of the file system's clock.
#[derive(Debug, Clone, Copy)]
pub struct Stamp(Stat);

impl Stamp {
    /// Returns the state of what is open.
    pub fn of(open: impl AsFd) -> io::Result<Self> {
        Ok(Self(fstat(open)?))
    }

    /// Returns the state of what has this name in an open directory, of a link itself; `None` if there is nothing.
    pub fn at(directory: impl AsFd, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        match statat(directory, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Self(stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the size in bytes.
    pub fn length(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or(u64::MAX)
    }

    /// Returns when the content was changed last, to the second; the beginning of 1970 for a time before that.
    pub fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(self.0.st_mtime).unwrap_or(0))
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    pub(crate) fn has_second_name(&self) -> bool {
        self.0.st_nlink > 1
    }
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        let times = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
        (one.st_dev, one.st_ino, one.st_mode, one.st_size)
            == (other.st_dev, other.st_ino, other.st_mode, other.st_size)
            && times(one) == times(other)
    }
}

impl Eq for Stamp {}
