//! A lock between programs: whoever changes a file that several of them write holds it from reading to renaming.
//!
//! It is the operating system's lock on an empty file that stays where it is, so a program that is killed leaves no lock
//! behind. It lies in a folder of the assistant's own, where no tool and no command can hold it against us.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How long another writer may take. Each holds the lock for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pauses between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// A lock that is held until this is dropped, or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of this name in a folder, which must exist.
    ///
    /// # Errors
    ///
    /// The lock file cannot be opened, or another program has held the lock for ten seconds.
    pub fn take(folder: &Path, name: &str) -> io::Result<Self> {
        let no_follow = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(no_follow);
        let path = folder.join(format!("{name}.lock"));
        let (file, deadline, mut pause) = (options.open(&path)?, Instant::now() + PATIENCE, FIRST_PAUSE);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(pause),
                Err(TryLockError::WouldBlock) => {
                    let held = format!("another program holds {} for too long", path.display());
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, held));
                }
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }
}
