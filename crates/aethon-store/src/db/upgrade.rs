//! Brings a database of an older version to the current one.
//!
//! Only for a program that has the database for itself: another program that has it open keeps using its knowledge of the old
//! tables, and its turns would be taken for those of a program that is gone. So the whole upgrade runs under SQLite's exclusive
//! lock, which no other program can get or hold at the same time, whatever its version. The database is copied first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::connection::{connect, use_wal};
use super::migrate::{self, VERSION};
use super::sql::Sql;
use super::{file, log_link, sibling};
use crate::error::{Error, FailedMigration, NoSpaceForCopy};

/// What follows the name of the database in that of a copy.
const COPY: &str = ".bak-v";

/// What follows the name of a copy until it is complete.
const PARTIAL: &str = ".partial";

/// The pages copied in one step.
const STEP: i32 = 1024;

/// The free space that an upgrade leaves beside the copy, for the writes of the migrations.
const RESERVE: u64 = 16 << 20;

/// A copy that an upgrade left beside the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldCopy {
    /// The file.
    pub path: PathBuf,
    /// The format of the database in it.
    pub version: i64,
    /// Its size in bytes.
    pub size: u64,
}

/// Upgrades the database at `path`. `afterwards` belongs to the same transaction and gets the old version. Another program that
/// has the database open is waited for as long as `patience`.
pub(super) fn upgrade(
    path: &Path,
    patience: Duration,
    afterwards: fn(&Sql<'_>, i64) -> Result<(), Error>,
) -> Result<(), Error> {
    // They may be what lacks on the disk.
    remove_partial_copies(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags, patience)?;
    hold(&connection).map_err(|error| if error.is_busy() { Error::held(path) } else { error })?;
    migrate::refuse_foreign(&connection, path)?;
    let from = migrate::version(&connection)?;
    match from {
        // Another program has upgraded it meanwhile.
        VERSION => return Ok(()),
        newer if newer > VERSION => return Err(Error::newer(path, newer, VERSION)),
        _ => {}
    }
    let copied = copy(&connection, path, from)?;
    use_wal(&connection, patience)?;
    connection.execute_batch("PRAGMA synchronous = FULL;")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let failed = |(step, source)| {
        let (path, copy) = (path.to_owned(), Some(copied.clone()));
        Error::migration(FailedMigration { path, from, to: VERSION, step, copy, source })
    };
    migrate::run(&transaction, from, VERSION).map_err(failed)?;
    // Otherwise a log that follows could pass for that of the copy.
    log_link::mark(&Sql::new(&transaction))?;
    afterwards(&Sql::new(&transaction), from)?;
    transaction.commit().map_err(|cause| failed((VERSION, cause)))?;
    tracing::info!(from, to = VERSION, copy = %copied.display(), "the database was brought to the current format");
    migrate::write_header(&connection)
}

/// Takes SQLite's exclusive lock, which this connection keeps until it is closed.
fn hold(connection: &Connection) -> Result<(), Error> {
    // Before the first access: then the index of the log is not shared either.
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    Ok(connection.execute_batch("BEGIN EXCLUSIVE; COMMIT;")?)
}

/// Copies the database. The copy gets its name only once it is complete; an incomplete one is removed.
fn copy(connection: &Connection, path: &Path, version: i64) -> Result<PathBuf, Error> {
    let target = copy_name(path, version);
    let needed = space_for_upgrade(path);
    if let Some(free) = free_space(path).filter(|free| *free < needed) {
        return Err(Error::no_space_for_copy(NoSpaceForCopy {
            path: path.to_owned(),
            from: version,
            to: VERSION,
            needed,
            free,
        }));
    }
    let partial = sibling::beside(&target, PARTIAL);
    let copied = write_copy(connection, &partial).and_then(|()| {
        fs::rename(&partial, &target).map_err(|error| Error::file("could not write", &target, error))
    });
    if let Err(error) = copied {
        // A leftover would keep the disk full; the next start tries to remove it again.
        let _ = fs::remove_file(&partial);
        return Err(Error::copy_failed(&target, &error));
    }
    // If the folder cannot be synced, a loss of power may take the name of the copy, and then that of the new database too.
    let _ = target.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(target)
}

fn write_copy(connection: &Connection, partial: &Path) -> Result<(), Error> {
    file::create_private(partial)?;
    let mut destination = Connection::open_with_flags(partial, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    {
        let backup = Backup::new(connection, &mut destination)?;
        loop {
            match backup.step(STEP)? {
                StepResult::Done => break,
                StepResult::More => {}
                _ => return Err(Error::in_use()),
            }
        }
    }
    // Make the copy a single file without a log beside it.
    destination.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    destination.close().map_err(|(_, error)| error.into())
}

/// Returns the name of the copy that an upgrade from a format makes.
pub fn copy_name(path: &Path, version: i64) -> PathBuf {
    sibling::beside(path, &format!("{COPY}{version}"))
}

/// Returns the free space that an upgrade of this database needs, in bytes.
pub fn space_for_upgrade(path: &Path) -> u64 {
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    size(path).saturating_add(size(&sibling::beside(path, "-wal"))).saturating_add(RESERVE)
}

/// Returns the free bytes of the disk that holds this path; `None` if it cannot tell.
pub fn free_space(path: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(path).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Lists the copies that upgrades left beside the database, oldest format first.
pub fn of_upgrades(path: &Path) -> Vec<OldCopy> {
    let complete = |(path, rest): (PathBuf, String)| {
        let (version, size) = (rest.parse().ok()?, fs::metadata(&path).ok()?.len());
        Some(OldCopy { path, version, size })
    };
    let mut copies: Vec<OldCopy> = all_copies(path).into_iter().filter_map(complete).collect();
    copies.sort_by_key(|copy| copy.version);
    copies
}

/// Removes copies that were never completed, and the journals that SQLite had beside them.
pub(crate) fn remove_partial_copies(path: &Path) {
    for (partial, _) in all_copies(path).into_iter().filter(|(_, rest)| rest.contains(PARTIAL)) {
        match fs::remove_file(&partial) {
            Ok(()) => {
                tracing::info!(file = %partial.display(), "an incomplete copy of an earlier upgrade was removed")
            }
            Err(error) => {
                tracing::warn!(%error, file = %partial.display(), "an incomplete copy of the database cannot be removed");
            }
        }
    }
}

/// All copies, with what follows the common part of their names.
fn all_copies(path: &Path) -> Vec<(PathBuf, String)> {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Vec::new() };
    let prefix = format!("{}{COPY}", name.to_string_lossy());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let rest = |entry: fs::DirEntry| {
        let rest = entry.file_name().to_string_lossy().strip_prefix(&prefix)?.to_owned();
        Some((entry.path(), rest))
    };
    entries.filter_map(rest).collect()
}
