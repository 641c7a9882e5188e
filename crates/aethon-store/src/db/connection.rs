//! Makes connections with the settings that all of them share.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Error;

pub(super) fn connect(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy_timeout)?;
    // Without it SQLite recompiles a statement whenever a value bound to it might have to do with a partial index,
    // which took a tenth of the writer's time. With it, a plan depends on the text of its statement alone.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}

/// Switches to the write-ahead log. SQLite's busy timeout does not apply here, so two programs that create the same
/// database at the same moment need this retry loop.
pub(super) fn use_wal(connection: &Connection, patience: Duration) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        let switched = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
            .map(|mode| mode.eq_ignore_ascii_case("wal"));
        match switched {
            Ok(true) => return Ok(()),
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                return Err(error.into());
            }
            Err(error) if begun.elapsed() >= patience => return Err(error.into()),
            // A file system without shared memory keeps the rollback journal: slower, but still correct.
            Ok(false) => {
                tracing::warn!(
                    "the file system of the database has no write-ahead log; writing will be slow"
                );
                return Ok(());
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
