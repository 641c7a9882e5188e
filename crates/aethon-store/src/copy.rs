//! Copies of the whole database, for backups: making one while the database is in use, and checking one.

use std::path::{Path, PathBuf};

use crate::db;
pub use crate::db::{CopyFacts, OldCopy, Progress};
use crate::error::Error;

/// The newest database format that this program knows.
pub const FORMAT: i64 = db::VERSION;

/// Copies a database to a new file, as one snapshot, while others may read and write it. `progress` ends it by returning
/// `false`. An unfinished target is left to the caller. Blocks.
pub fn make(source: &Path, target: &Path, mut progress: impl FnMut(Progress) -> bool) -> Result<(), Error> {
    db::copy(source, target, &mut progress)
}

/// Checks a database that lies alone, or with a log beside it that is its own: whether it is ours, of a known format, and intact.
/// Blocks.
pub fn verify(path: &Path) -> Result<CopyFacts, Error> {
    db::verify(path)
}

/// Refuses a database that must not be opened: another kind of file, a newer format, or a log beside it that is not its own.
/// Only for processes that do not have it open.
pub fn inspect(path: &Path) -> Result<(), Error> {
    db::inspect(path).map(drop)
}

/// Returns the format of a database without changing it; `None` if there is none, or nothing in it. Refuses as [`inspect`] does.
/// Only for processes that do not have it open.
pub fn format(path: &Path) -> Result<Option<i64>, Error> {
    db::inspect(path)
}

/// Lists the copies that upgrades left beside the database, oldest format first.
pub fn of_upgrades(database: &Path) -> Vec<OldCopy> {
    db::copies_of_upgrades(database)
}

/// Returns the name of the copy that an upgrade from a format makes, and the bytes that the upgrade needs on the disk for it.
pub fn of_upgrade_from(database: &Path, version: i64) -> (PathBuf, u64) {
    (db::copy_name(database, version), db::space_for_upgrade(database))
}

/// Returns the free bytes of the disk that holds this path; `None` if it cannot tell.
pub fn free_space(path: &Path) -> Option<u64> {
    db::free_space(path)
}

/// Returns whether another process has the database open. Only for processes that do not have it open themselves.
pub fn is_open_elsewhere(path: &Path) -> bool {
    db::is_open_elsewhere(path)
}
