//! The state of a file or directory at one moment, for noticing that it has changed.

use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Stat};

/// The state of a file or directory: which one it is, its type, size and times. Equal stamps mean that nothing has
/// changed; they decide only whether to read again.
#[derive(Debug, Clone, Copy)]
pub struct Stamp(Stat);

impl Stamp {
    pub(crate) fn new(stat: Stat) -> Self {
        Self(stat)
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
