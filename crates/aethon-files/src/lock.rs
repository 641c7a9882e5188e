//! A lock between programs: a writer of a shared file holds it from reading to renaming.
//!
//! It is the operating system's lock on an empty file that stays where it is, so a program that is killed leaves no lock
//! behind. It lies in a folder of the assistant's own, where no tool and no command can hold it against us.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// How long other writers may take. Each holds the lock for milliseconds.
const TIMEOUT: Duration = Duration::from_secs(30);

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
    /// The lock file cannot be opened, or another program has held the lock for half a minute.
    pub fn take(folder: &Path, name: &str) -> io::Result<Self> {
        // A FIFO in the place of the file would wait for its other end, and no limit would apply to that.
        let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
        let path = folder.join(format!("{name}.lock"));
        let refused = || io::Error::other(format!("{} is not a plain file; remove it", path.display()));
        let file = match options.open(&path) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return Err(refused()),
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(refused());
        }
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::Error(error)) => Err(error),
            Err(TryLockError::WouldBlock) => match queued(file)?.recv_timeout(TIMEOUT) {
                Ok(locked) => Ok(Self { _file: locked? }),
                Err(_) => {
                    let held = format!("another program holds {} for too long", path.display());
                    Err(io::Error::new(io::ErrorKind::WouldBlock, held))
                }
            },
        }
    }
}

/// Waits for the lock in the system's queue, which polling would not join: a poller would lose
/// against those that come and go. The system's wait has no deadline, so it has a thread of its own; if its caller is gone,
/// the lock is released as soon as it is taken.
fn queued(file: File) -> io::Result<Receiver<io::Result<File>>> {
    let (locked, wait) = sync_channel(1);
    let queue = move || {
        let outcome = loop {
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome.map(|()| file),
            }
        };
        // An error means that the caller is gone; the unsent value is dropped, and with it the lock.
        let _ = locked.send(outcome);
    };
    thread::Builder::new().name("file-lock".to_owned()).spawn(queue)?;
    Ok(wait)
}
