//! Mends a damaged database: first its indexes are rebuilt, and if that is not enough, what can be read is saved into a new file.
//!
//! The damaged file is kept. Only for a database that is not open.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::db::{self, Sql, TableSalvage, VERSION, indexes};
use crate::error::Error;
use crate::{marks, memory};

/// How many faults are named.
const MAX_FAULTS: usize = 50;

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The database is intact; nothing was changed.
    Intact,
    /// Its indexes were damaged and were rebuilt; nothing is lost. The faults that were found.
    Rebuilt(Vec<String>),
    /// What could be read is in a new file of this path, which is complete and intact. The old file is unchanged.
    Salvaged(Salvaged),
}

/// A database that was salvaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// The new file.
    pub file: PathBuf,
    /// How many rows were saved.
    pub kept: u64,
    /// The losses, one sentence a table.
    pub lost: Vec<String>,
}

/// Mends the database at `path`, salvaging into the new file `target` if it must. Blocks; reads all of it.
pub fn repair(path: &Path, target: &Path) -> Result<Repair, Error> {
    db::format(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let damaged = Connection::open_with_flags(path, flags)?;
    let faults = faults(&damaged);
    if faults.is_empty() {
        return Ok(Repair::Intact);
    }
    if rebuild_indexes(&damaged, &faults).is_ok() && self::faults(&damaged).is_empty() {
        return Ok(Repair::Rebuilt(faults));
    }
    salvage(&damaged, target).map(Repair::Salvaged)
}

/// Returns the faults found. Also compares every index with its table.
fn faults(connection: &Connection) -> Vec<String> {
    let found = indexes::faults(connection, "PRAGMA integrity_check(1000000)");
    let mut faults = found.unwrap_or_else(|error| vec![error.to_string()]);
    faults.truncate(MAX_FAULTS);
    faults
}

fn rebuild_indexes(connection: &Connection, faults: &[String]) -> Result<(), Error> {
    for index in indexes::named_by(connection, faults)? {
        indexes::rebuild(connection, &index)?;
    }
    Ok(connection.execute_batch("REINDEX; PRAGMA wal_checkpoint(TRUNCATE)")?)
}

fn salvage(damaged: &Connection, target: &Path) -> Result<Salvaged, Error> {
    let new = db::create_alone(target)?;
    // The new file has the tables and columns of the old one until all of its rows are there.
    let known: i64 = damaged.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let version = if (1..=VERSION).contains(&known) { known } else { VERSION };
    db::create_at(&new, version)?;
    let tables = db::salvage(damaged, &new)?;
    db::finish(&new, version)?;
    let sql = Sql::new(&new);
    // As an upgrade does: default limits that the old format did not have must not remove anything unannounced.
    marks::begin_defaults_wait(&sql, version)?;
    db::in_transaction(&sql, memory::index_all)?;
    drop(sql);
    let remaining = faults(&new);
    // A single file, ready to be renamed.
    new.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    new.close().map_err(|(_, error)| error)?;
    if !remaining.is_empty() {
        return Err(Error::damaged(&remaining.join("; ")));
    }
    let kept = tables.iter().map(|table| table.kept).sum();
    Ok(Salvaged { file: target.to_owned(), kept, lost: tables.iter().filter_map(lost).collect() })
}

/// Describes the losses of a table.
fn lost(table: &TableSalvage) -> Option<String> {
    const MAX_NAMED: usize = 5;
    let TableSalvage { table, gaps, .. } = table;
    if gaps.is_empty() {
        return None;
    }
    let more = match gaps.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let named = gaps.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(format!("{table}: {named}{more}"))
}
