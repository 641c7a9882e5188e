//! The file before SQLite sees it: is it ours, do we know its version, may nobody else read it.
//!
//! The checks only read. A database of a newer version, or a file that is something else, is left exactly as it is.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::migrate::{APPLICATION_ID, VERSION};
use crate::error::Error;

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Makes sure that the file exists, is ours, has a version that we know, and belongs to its owner alone.
pub(super) fn prepare(path: &Path) -> Result<(), Error> {
    let existed = check(path)?;
    if !existed {
        create(path)?;
    }
    // SQLite would fall back to reading, and fail at the first write only.
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(|error| Error::unwritable(path, error))?;
    for file in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
        close_to_others(&file)?;
    }
    Ok(())
}

/// A file beside the database, named like it with something appended.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Creates an empty file that only its owner can read. SQLite gives `-wal` and `-shm` the mode of the database.
pub(super) fn create_private(path: &Path) -> Result<(), Error> {
    let open = || {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))
    };
    open().map_err(|error| Error::file("could not create", path, error))
}

/// Looks at the file without changing anything. `false` when there is none yet.
fn check(path: &Path) -> Result<bool, Error> {
    let Some(header) = read_header(path)? else { return Ok(false) };
    if header.is_empty() {
        return Ok(true);
    }
    if header.len() < 100 || !header.starts_with(MAGIC) {
        return Err(Error::foreign(path));
    }
    let field = |at: usize| {
        i64::from(u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    judge(path, field(60), field(68))?;
    // What is committed but not yet in the main file can hold a newer version.
    if fs::metadata(beside(path, "-wal")).is_ok_and(|wal| wal.len() > 0) {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        judge(path, pragma("user_version")?, pragma("application_id")?)?;
    }
    Ok(true)
}

/// Whether a database with these marks may be opened. Both are zero in one that was created and not yet filled; what is
/// in such a file is looked at before the first migration.
fn judge(path: &Path, version: i64, application: i64) -> Result<(), Error> {
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

fn close_to_others(path: &Path) -> Result<(), Error> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(0o600))
        .map_err(|error| Error::file("could not close to other users", path, error))
}
