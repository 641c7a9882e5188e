//! Opens and configures connections.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aethon_core::storage::{StorageHealth, Synchronous};
use rusqlite::{Connection, OpenFlags};

use super::capacity::Capacity;
use super::connection::{connect, use_wal};
use super::copy::is_open_elsewhere;
use super::damage::note_damage;
use super::file_identity::FileIdentity;
use super::reading::{Access, ReadMode, Reading};
use super::sql::Sql;
use super::upgrade::upgrade;
use super::{file, migrate};
use crate::error::Error;

/// Settings shared by all connections.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Path of the database.
    pub(crate) path: PathBuf,
    /// Which failures a commit survives.
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

/// The database, open for writing, or for reading only.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) identity: Arc<FileIdentity>,
    /// Its largest size, if it has one.
    pub(crate) capacity: Option<Capacity>,
    /// Why nothing can be written. Then the connection only reads.
    pub(crate) obstacle: Option<Error>,
}

/// Checks the file, creates or migrates it, and opens the writing connection. A database of this version on a full or read-only
/// disk is opened for reading.
pub(crate) fn open_or_read(settings: &Settings) -> Result<Opened, Error> {
    let mut access = settings.reading.alone();
    let (opened, mode) = match open(settings) {
        Err(error) if error.leaves_it_readable() => open_for_reading(settings, error)?,
        opened => (opened?, ReadMode::Lasting),
    };
    *access = Access::new(mode, opened.identity.clone());
    Ok(opened)
}

/// Closes a database that could only be read, and opens it for writing. If that fails, its readers go on, and the obstacle
/// stays.
pub(super) fn open_anew(settings: &Settings, former: Opened) -> Opened {
    let Opened { connection, identity, capacity, obstacle } = former;
    let placeholder = match Connection::open_in_memory() {
        Ok(placeholder) => placeholder,
        Err(error) => {
            tracing::warn!(%error, "no connection could be made");
            return Opened { connection, identity, capacity, obstacle };
        }
    };
    let mut access = settings.reading.alone();
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database could not be closed before it is opened again");
    }
    // It was checked when it was opened for reading. What else opens the file might drop the locks of a copy that is made.
    let opened = file::close_to_others(&settings.path).and_then(|()| open_writer(settings));
    match opened.and_then(|writer| Ok((writer, FileIdentity::of(&settings.path)?))) {
        Ok(((connection, capacity), identity)) => {
            let identity = Arc::new(identity);
            *access = Access::new(ReadMode::Lasting, identity.clone());
            Opened { connection, identity, capacity, obstacle: None }
        }
        Err(error) => {
            note_damage(&settings.health, &error);
            tracing::debug!(error = &error as &dyn std::error::Error, "the database cannot be written yet");
            // The obstacle keeps everything from the placeholder.
            Opened { connection: placeholder, identity, capacity, obstacle }
        }
    }
}

fn open(settings: &Settings) -> Result<Opened, Error> {
    let opened = file::prepare(&settings.path)
        .and_then(|version| bring_up_to_date(settings, version))
        .and_then(|()| open_writer(settings));
    let (connection, capacity) = opened.map_err(|error| error.at_opening(&settings.path))?;
    let identity = Arc::new(FileIdentity::of(&settings.path)?);
    Ok(Opened { connection, identity, capacity, obstacle: None })
}

/// Opens a database that cannot be written, because of this error. A log that still holds commits needs its index, which a
/// crash leaves behind; without one there is nothing but the file. Another program that has it open may write all the same.
fn open_for_reading(settings: &Settings, error: Error) -> Result<(Opened, ReadMode), Error> {
    let is_fixed = file::has_empty_log(&settings.path) && !is_open_elsewhere(&settings.path);
    let mode = if is_fixed { ReadMode::BriefAndFixed } else { ReadMode::Brief };
    let opened = open_reader(settings, mode).and_then(|connection| {
        let is_current = migrate::is_current(&connection)?;
        Ok((connection, is_current))
    });
    match opened {
        Ok((connection, true)) => {
            let identity = Arc::new(FileIdentity::of(&settings.path)?);
            Ok((Opened { connection, identity, capacity: None, obstacle: Some(error) }, mode))
        }
        _ => Err(error),
    }
}

/// Creates an empty file that only this process uses.
pub(crate) fn create_alone(path: &Path) -> Result<Connection, Error> {
    file::create_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    connect(path, flags, Duration::ZERO)
}

fn bring_up_to_date(settings: &Settings, version: i64) -> Result<(), Error> {
    match settings.upgrade {
        _ if version == 0 || version == migrate::VERSION => Ok(()),
        Upgrade::Refuse => Err(Error::older(&settings.path, version, migrate::VERSION)),
        Upgrade::Allow(afterwards) => upgrade(&settings.path, settings.busy_timeout, afterwards),
    }
}

fn open_writer(settings: &Settings) -> Result<(Connection, Option<Capacity>), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(&settings.path, flags, settings.busy_timeout)?;
    migrate::refuse_foreign(&connection, &settings.path)?;
    use_wal(&connection, settings.busy_timeout)?;
    migrate::create(&mut connection, &settings.path)?;
    let synchronous = match settings.synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    // Overwrite removed messages instead of only unlinking them. The writer times the checkpoints. Keep the log at the
    // size that it reaches between checkpoints: shrinking and regrowing it costs a third of all turns. The idle
    // checkpoint that truncates the log gives the space back.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = {synchronous};
         PRAGMA secure_delete = ON;
         PRAGMA wal_autocheckpoint = 0;
         PRAGMA journal_size_limit = 33554432;
         PRAGMA cache_size = -1024;"
    ))?;
    let is_limited = settings.max_bytes.is_some() && (settings.is_limited)(&Sql::new(&connection))?;
    let limit = settings.max_bytes.filter(|_| is_limited);
    let capacity = limit.map(|bytes| Capacity::set(&connection, bytes)).transpose()?;
    Ok((connection, capacity))
}

/// Opens a connection that only reads, unless another file is at this path by now.
pub(super) fn open_current_reader(settings: &Settings, access: &Access) -> Result<Connection, Error> {
    access.check_identity()?;
    open_reader(settings, access.mode)
}

/// Opens a read-only connection.
fn open_reader(settings: &Settings, mode: ReadMode) -> Result<Connection, Error> {
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
