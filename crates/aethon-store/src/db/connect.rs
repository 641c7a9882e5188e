//! Connections to the file, and their settings.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::storage::{StorageHealth, Synchronous};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::file;
use super::reading::{Access, ReadMode, Reading};
use super::sql::Sql;
use crate::error::Error;

/// Settings shared by all connections.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Path of the database.
    pub(crate) path: PathBuf,
    /// What a commit survives.
    pub(crate) synchronous: Synchronous,
    /// How long to wait for another process's write lock.
    pub(crate) busy_timeout: Duration,
    /// Maximum size of the file.
    pub(crate) max_bytes: Option<u64>,
    /// Whether that size holds by now.
    pub(crate) is_limited: fn(&Sql<'_>) -> Result<bool, Error>,
    /// What happens to a database of an older version.
    pub(crate) upgrade: Upgrade,
    /// Where failures and recoveries of the storage are reported.
    pub(crate) health: StorageHealth,
    /// How it is read.
    pub(crate) reading: Arc<Reading>,
}

/// What happens to a database of an older version.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upgrade {
    /// It is refused and left as it is.
    Refuse,
    /// It is upgraded. The function is part of that, and gets the old version.
    Allow(fn(&Sql<'_>, i64) -> Result<(), Error>),
}

/// Opens a connection that only reads, unless another file is at this path by now.
pub(super) fn open_with(access: &Access, settings: &Settings) -> Result<Connection, Error> {
    access.check()?;
    open_reader(settings, access.mode())
}

/// Opens a read-only connection.
pub(super) fn open_reader(settings: &Settings, mode: ReadMode) -> Result<Connection, Error> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // A log that fills tells of a program that writes by now.
    let is_fixed = mode == ReadMode::BriefAndFixed && file::has_empty_log(&settings.path);
    let connection = if is_fixed {
        flags |= OpenFlags::SQLITE_OPEN_URI;
        connect(Path::new(&fixed(&settings.path)), flags, settings.busy_timeout)?
    } else {
        connect(&settings.path, flags, settings.busy_timeout)?
    };
    connection.execute_batch("PRAGMA cache_size = -256;")?;
    Ok(connection)
}

/// The address of a file that SQLite reads without locks and without a log.
fn fixed(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address + "?immutable=1"
}

pub(super) fn connect(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy_timeout)?;
    // Without it SQLite compiles a statement anew whenever a value bound to it might have to do with a partial index,
    // which took a tenth of the writer's time. With it, a plan depends on the text of its statement alone.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}

/// Switches to the write-ahead log. SQLite's busy timeout does not apply here, so two programs that create the same
/// database at the same moment need this retry loop.
pub(super) fn use_wal(connection: &Connection, timeout: Duration) -> Result<(), Error> {
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
            Err(error) if begun.elapsed() >= timeout => return Err(error.into()),
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
