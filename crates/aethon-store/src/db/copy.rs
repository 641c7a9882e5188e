//! Copies a database that may be in use, and checks copies.
//!
//! The copy is made of one snapshot: the reading transaction is held from the first page to the last, so writers go on and
//! the copy never starts over. Meanwhile the log cannot be restarted and grows with every write. On a file system without
//! a write-ahead log a held snapshot would stop all writers, so there the copy proceeds in steps and starts over after
//! each write.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

use super::migrate::{APPLICATION_ID, VERSION};
use super::{file, indexes, sibling};
use crate::error::Error;

/// Pages per step.
const STEP: i32 = 512;

/// How long a copy waits for others that hold the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a step may find the database locked.
const MAX_BUSY_STEPS: u32 = 100;

/// The pause after a step where a held snapshot would stop writers.
const BREATH: Duration = Duration::from_millis(5);

/// The byte of the `-shm` file on which every connection holds a lock. Part of SQLite's file format.
const CONNECTED: i64 = 128;

/// How far a copy is, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pages copied.
    pub copied: u64,
    /// Pages of the database.
    pub total: u64,
}

/// Result of [`verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFacts {
    /// The format of the copy.
    pub version: i64,
    /// The damage found; empty if the copy is intact.
    pub problems: Vec<String>,
}

/// Copies a database to a new file, as one snapshot, while others may read and write it. `progress` ends it by returning
/// `false`. An unfinished target is left to the caller. Blocks.
pub fn make(source: &Path, target: &Path, mut progress: impl FnMut(Progress) -> bool) -> Result<(), Error> {
    file::create_private(target)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let from = Connection::open_with_flags(source, flags)?;
    from.busy_timeout(BUSY_TIMEOUT)?;
    let mut to = Connection::open_with_flags(target, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    to.execute_batch("PRAGMA synchronous = OFF;")?;
    let mode: String = from.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let is_snapshot = mode.eq_ignore_ascii_case("wal");
    if is_snapshot {
        // The first read fixes the snapshot.
        from.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    }
    {
        let backup = Backup::new(&from, &mut to)?;
        let mut busy = 0;
        loop {
            let done = backup.step(STEP)?;
            let pages = backup.progress();
            let (total, left) = (pages.pagecount.unsigned_abs(), pages.remaining.unsigned_abs());
            if !progress(Progress { copied: u64::from(total.saturating_sub(left)), total: u64::from(total) })
            {
                return Err(Error::closed());
            }
            match done {
                StepResult::Done => break,
                StepResult::More if is_snapshot => {}
                StepResult::More => std::thread::sleep(BREATH),
                _ if busy < MAX_BUSY_STEPS => {
                    busy += 1;
                    std::thread::sleep(BREATH * 10);
                }
                _ => return Err(Error::in_use()),
            }
        }
    }
    // Make the copy a single file without a log beside it.
    to.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    to.close().map_err(|(_, error)| error)?;
    let synced = OpenOptions::new().write(true).open(target).and_then(|file| file.sync_all());
    synced.map_err(|error| Error::file("could not write", target, error))
}

/// Checks a database that lies alone, or with a log beside it that is its own: whether it is ours, of a known format, and intact.
/// Blocks.
pub fn verify(path: &Path) -> Result<CopyFacts, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(path, flags)?;
    let number = |pragma| copy.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    // An empty database has no mark yet.
    if application != APPLICATION_ID && (version, application) != (0, 0) {
        return Err(Error::foreign(path));
    }
    if version > VERSION {
        return Err(Error::newer(path, version, VERSION));
    }
    let mut problems = indexes::faults(&copy, "PRAGMA quick_check(1000000)")?;
    problems.truncate(20);
    Ok(CopyFacts { version, problems })
}

/// Returns the format of a database without changing it; `None` if there is none, or nothing in it. Refuses one that must not
/// be opened: another kind of file, a newer format, or a log beside it that is not its own.
///
/// Must not be called in a process that has the database open: closing a file drops the locks that the process holds on it.
pub fn format(path: &Path) -> Result<Option<i64>, Error> {
    file::check(path)
}

/// Returns whether another process has the database open. Takes no lock. As with [`format()`], never for an own database.
pub fn is_open_elsewhere(path: &Path) -> bool {
    let shared = sibling::beside(path, "-shm");
    // A lock can be looked for without being able to write.
    let opened = OpenOptions::new().read(true).write(true).open(&shared).or_else(|_| File::open(&shared));
    let Ok(shared) = opened else { return false };
    let mut lock = Flock::from(FlockType::WriteLock);
    (lock.start, lock.length, lock.offset_type) = (CONNECTED as _, 1, FlockOffsetType::Set);
    matches!(fcntl_getlk(&shared, &lock), Ok(Some(_)))
}
