//! Schema versions and the migrations between them.
//!
//! The version is the number of migrations that have run, kept in SQLite's `user_version`. All of them run in one
//! transaction, so a database ends up at either the old version or the new one.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::log_link;
use super::sql::Sql;
use crate::error::{Error, FailedMigration};

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
    include_str!("migrations/0019_session_settings.sql"),
    include_str!("migrations/0020_read_marks.sql"),
    include_str!("migrations/0021_versions.sql"),
    include_str!("migrations/0022_bin.sql"),
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

/// Fills a new database. One of an older version is left to [`super::upgrade`], which needs it for itself.
pub(super) fn create(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    connection.execute_batch("PRAGMA synchronous = FULL;")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Check again: another process may have created it while this one waited for the lock.
    match version(&transaction)? {
        0 => {}
        VERSION => return Ok(()),
        newer if newer > VERSION => return Err(Error::newer(path, newer, VERSION)),
        older => return Err(Error::older(path, older, VERSION)),
    }
    let failed = |step, source| {
        let path = path.to_owned();
        Error::migration(FailedMigration { path, from: 0, to: VERSION, step, copy: None, source })
    };
    run(&transaction, 0, VERSION).map_err(|(step, source)| failed(step, source))?;
    log_link::mark(&Sql::new(&transaction))?;
    let commit = transaction.commit();
    commit.map_err(|source| failed(VERSION, source))?;
    tracing::info!(version = VERSION, "a new database was made");
    write_header(connection)
}

/// Returns whether the database has [`VERSION`].
pub(super) fn is_current(connection: &Connection) -> Result<bool, Error> {
    Ok(version(connection)? == VERSION)
}

/// Makes an empty database of an earlier version.
pub(crate) fn create_at(connection: &Connection, version: i64) -> Result<(), Error> {
    Ok(run(connection, 0, version).map_err(|(_, cause)| cause)?)
}

/// Brings a database that nothing else uses from an earlier version to [`VERSION`], without a copy.
pub(crate) fn finish(connection: &Connection, from: i64) -> Result<(), Error> {
    run(connection, from, VERSION).map_err(|(_, cause)| cause)?;
    log_link::mark(&Sql::new(connection))
}

/// Runs the migrations between two versions and records the second. An error comes with the number of its step.
pub(super) fn run(connection: &Connection, from: i64, to: i64) -> Result<(), (i64, rusqlite::Error)> {
    for (step, migration) in (1..=to).zip(MIGRATIONS).filter(|(step, _)| *step > from) {
        connection.execute_batch(migration).map_err(|cause| (step, cause))?;
    }
    let mark = format!("PRAGMA user_version = {to}; PRAGMA application_id = {APPLICATION_ID};");
    connection.execute_batch(&mark).map_err(|cause| (to, cause))
}

/// Checkpoints so that the version reaches the header of the main file, which the next start reads first.
pub(super) fn write_header(connection: &Connection) -> Result<(), Error> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

pub(super) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
