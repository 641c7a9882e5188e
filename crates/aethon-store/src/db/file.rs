//! Checks on the database file before SQLite opens it: is it ours, do we know its version, is it private to its owner?
//!
//! The checks only read. A database of a newer version, or a file of another kind, is left exactly as it is.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::log_link;
use super::migrate::{APPLICATION_ID, VERSION};
use super::sibling::beside;
use crate::error::{Error, Obstacle};

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Makes sure that the file exists, is ours, has a known version, and is accessible to its owner only. Returns its version; 0
/// is a new one.
///
/// No connection of this process may have it open: closing a file drops the locks that the process holds on it.
pub(super) fn prepare(path: &Path) -> Result<i64, Error> {
    let version = check(path)?.unwrap_or_default();
    if !path.exists() {
        create(path)?;
    }
    // Without this check SQLite would fall back to read-only mode and fail only at the first write.
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(|error| Error::unwritable(path, Obstacle::of(&error)))?;
    close_to_others(path)?;
    Ok(version)
}

/// Makes sure that the database and the files beside it are accessible to its owner only. Does not open them.
pub(super) fn close_to_others(path: &Path) -> Result<(), Error> {
    for file in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
        restrict_to_owner(&file)?;
    }
    Ok(())
}

/// Returns whether no commits are in a log beside the database.
pub(super) fn has_empty_log(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).map_or(true, |log| log.len() == 0)
}

/// Creates an empty file that only its owner can read. SQLite gives `-wal` and `-shm` the same mode.
pub(super) fn create_private(path: &Path) -> Result<(), Error> {
    let open = || {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))
    };
    open().map_err(|error| Error::unwritable(path, Obstacle::of(&error)))
}

/// Validates the file without changing it. Returns its version; `None` if there is none yet, or nothing in it.
pub(super) fn check(path: &Path) -> Result<Option<i64>, Error> {
    let Some(header) = read_header(path)? else { return Ok(None) };
    if header.is_empty() {
        return Ok(None);
    }
    if header.len() < 100 || !header.starts_with(MAGIC) {
        return Err(Error::foreign(path));
    }
    let field = |at: usize| {
        i64::from(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    let mut version = field(60);
    check_header(path, version, field(68))?;
    // Commits that are still in the log may have raised the version.
    if !has_empty_log(path) {
        log_link::check(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        version = pragma("user_version")?;
        check_header(path, version, pragma("application_id")?)?;
    }
    Ok(Some(version).filter(|version| *version > 0))
}

/// Decides by its header fields whether a database may be opened. Both fields are zero in a file that was created but
/// not yet filled; [`super::migrate`] checks the contents of such a file before the first migration.
fn check_header(path: &Path, version: i64, application: i64) -> Result<(), Error> {
    match (version, application) {
        (0, 0) => Ok(()),
        (_, other) if other != APPLICATION_ID => Err(Error::foreign(path)),
        (found, _) if found > VERSION => Err(Error::newer(path, found, VERSION)),
        _ => Ok(()),
    }
}

fn read_header(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file("could not read", path, error)),
    };
    let mut header = Vec::with_capacity(100);
    file.take(100).read_to_end(&mut header).map_err(|error| Error::file("could not read", path, error))?;
    Ok(Some(header))
}

fn create(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let make = || {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            fs::set_permissions(folder, Permissions::from_mode(0o700))
        };
        make().map_err(|error| Error::file("could not create", folder, error))?;
    }
    create_private(path)
}

fn restrict_to_owner(path: &Path) -> Result<(), Error> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(0o600))
        .map_err(|error| Error::file("could not close to other users", path, error))
}
