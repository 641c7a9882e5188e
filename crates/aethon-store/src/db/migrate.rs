//! Schema versions and the migrations between them.
//!
//! The version is the number of migrations that have run, kept in SQLite's `user_version`. An existing database is
//! backed up first, and all its migrations run in one transaction, so it ends up at either the old version or the new
//! one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::sql::Sql;
use super::{file, log_link};
use crate::error::Error;

/// The migrations, oldest first. Never edit one that was released.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_conversations.sql"),
    include_str!("migrations/0002_search.sql"),
    include_str!("migrations/0003_ledger.sql"),
    include_str!("migrations/0004_vectors.sql"),
    include_str!("migrations/0005_saved.sql"),
    include_str!("migrations/0006_learned.sql"),
    include_str!("migrations/0007_delivery_files.sql"),
    include_str!("migrations/0008_estimates.sql"),
    include_str!("migrations/0009_owners.sql"),
    include_str!("migrations/0010_outside.sql"),
    include_str!("migrations/0011_marks.sql"),
    include_str!("migrations/0012_memory.sql"),
    include_str!("migrations/0013_audit.sql"),
    include_str!("migrations/0014_jobs.sql"),
    include_str!("migrations/0015_telemetry.sql"),
    include_str!("migrations/0016_channels.sql"),
    include_str!("migrations/0017_work.sql"),
    include_str!("migrations/0018_log_link.sql"),
];

/// The schema version that this program writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// SQLite application id that marks the file as ours: `aeth`.
pub(super) const APPLICATION_ID: i64 = 0x6165_7468;

/// Refuses a database that has tables but not our mark: it belongs to another program. Both facts come from one
/// statement and thus one snapshot: between two statements, another process could create the tables and the mark.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), Error> {
    const IS_FOREIGN: &str =
        "SELECT user_version = 0 AND EXISTS (SELECT 1 FROM sqlite_schema) FROM pragma_user_version";
    let is_foreign = connection.query_row(IS_FOREIGN, [], |row| row.get(0))?;
    if is_foreign { Err(Error::foreign(path)) } else { Ok(()) }
}

/// Migrates the database to [`VERSION`].
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    connection.execute_batch("PRAGMA synchronous = FULL;")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Check again: another process may have migrated while this one waited for the lock.
    let from = version(&transaction)?;
    if from > VERSION {
        return Err(Error::newer(path, from, VERSION));
    }
    if from == VERSION {
        return Ok(());
    }
    let copied = if from > 0 { Some(copy(path, from)?) } else { None };
    let failed = |(step, cause)| Error::migration(path, (from, step, VERSION), copied.clone(), cause);
    run_steps(&transaction, from, VERSION).map_err(failed)?;
    // Otherwise a log that follows could pass for that of the copy.
    log_link::mark(&Sql::new(&transaction))?;
    transaction.commit().map_err(|cause| failed((VERSION, cause)))?;
    match from {
        0 => tracing::info!(version = VERSION, "a new database was made"),
        _ => tracing::info!(from, to = VERSION, "the database was brought to the current version"),
    }
    // Checkpoint so that the version reaches the header of the main file, which the next start reads first.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Returns whether the database has [`VERSION`].
pub(super) fn is_current(connection: &Connection) -> Result<bool, Error> {
    Ok(version(connection)? == VERSION)
}

/// Makes an empty database of an earlier version.
pub(crate) fn create_at(connection: &Connection, version: i64) -> Result<(), Error> {
    Ok(run_steps(connection, 0, version).map_err(|(_, cause)| cause)?)
}

/// Brings a database that nothing else uses from an earlier version to [`VERSION`], without a copy.
pub(crate) fn finish(connection: &Connection, from: i64) -> Result<(), Error> {
    run_steps(connection, from, VERSION).map_err(|(_, cause)| cause)?;
    log_link::mark(&Sql::new(connection))
}

/// Runs the migrations between two versions and records the second. An error comes with the number of its step.
fn run_steps(connection: &Connection, from: i64, to: i64) -> Result<(), (i64, rusqlite::Error)> {
    for (step, migration) in (1..=to).zip(MIGRATIONS).filter(|(step, _)| *step > from) {
        connection.execute_batch(migration).map_err(|cause| (step, cause))?;
    }
    let mark = format!("PRAGMA user_version = {to}; PRAGMA application_id = {APPLICATION_ID};");
    connection.execute_batch(&mark).map_err(|cause| (to, cause))
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Copies the database to `aethon.db.bak-vN`. The copy gets that name only once it is complete.
fn copy(path: &Path, version: i64) -> Result<PathBuf, Error> {
    let target = file::beside(path, &format!(".bak-v{version}"));
    let partial = file::beside(path, &format!(".bak-v{version}.partial"));
    let moved =
        |result: std::io::Result<()>| result.map_err(|error| Error::file("could not write", &target, error));
    if partial.exists() {
        moved(std::fs::remove_file(&partial))?;
    }
    file::create_private(&partial)?;
    {
        let source = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut destination = Connection::open_with_flags(&partial, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Backup::new(&source, &mut destination)?.run_to_completion(1024, Duration::ZERO, None)?;
        // Make the copy a single file without a log beside it.
        destination.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    }
    moved(std::fs::rename(&partial, &target))?;
    tracing::info!(copy = %target.display(), "the database was copied before it is changed");
    Ok(target)
}
