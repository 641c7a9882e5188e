//! The rows of a database file, for moving them from or to another storage.
//!
//! A file that rows are copied into has another name until all of them are there, so nothing takes a part for the whole. The
//! indexes of words are not copied, because each storage has its own kind: that of memories is made at the end, and that of
//! messages in idle moments, as always.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::storage::rows::{Batch, Batches, Begun, Extent, Gathering, Row, RowStorage, Table};
use async_trait::async_trait;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use tokio::sync::mpsc;

use crate::db::{self, Sql, bound, cells, describe, last_key};
use crate::error::Error;
use crate::memory;

/// Tables that follow from others, or belong to this file alone.
const OWN_TABLES: [&str; 5] = ["log_link", "memory_stems", "owners", "search_mark", UNFINISHED];

/// The table that is there while a copy is not complete.
const UNFINISHED: &str = "unfinished_copy";

/// What follows the name of the database until a copy into it is complete.
const PARTIAL: &str = ".copying";

/// How many batches wait to be taken.
const QUEUED: usize = 4;

/// A database file as a set of tables. Its methods block.
pub struct FileRows {
    path: PathBuf,
    connection: Mutex<Connection>,
    tables: Vec<Table>,
}

impl FileRows {
    /// Opens a database of this version, to read it. Nothing else may use it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        match db::format(path)? {
            Some(db::VERSION) => {}
            Some(older) => return Err(Error::older(path, older, db::VERSION)),
            None => {
                return Err(
                    CoreError::not_found(format!("there is no database at {}", path.display())).into()
                );
            }
        }
        Self::of(path.to_owned(), read_only(path)?)
    }

    /// Opens the file that becomes the database at `path` when all rows are there, which no file is yet.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if path.exists() {
            let shown = path.display();
            return Err(CoreError::invalid(format!("{shown} is there already: move it away first")).into());
        }
        let partial = partial(path);
        let goes_on = is_unfinished(&partial);
        if !goes_on {
            for suffix in ["", "-journal"] {
                let file = sibling(&partial, suffix);
                match fs::remove_file(&file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::file("could not remove", &file, error));
                    }
                    _ => {}
                }
            }
        }
        let connection = db::create_alone(&partial)?;
        connection.execute_batch("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = NORMAL;")?;
        if !goes_on {
            // All or nothing: a file that was begun and has no tables is no copy that can go on.
            connection.execute_batch("BEGIN IMMEDIATE")?;
            db::create_at(&connection, db::VERSION)?;
            connection.execute_batch("CREATE TABLE unfinished_copy (source INTEGER) STRICT; COMMIT")?;
        }
        Self::of(path.to_owned(), connection)
    }

    fn of(path: PathBuf, connection: Connection) -> Result<Self, Error> {
        let tables = describe(&connection, &OWN_TABLES)?;
        Ok(Self { path, connection: Mutex::new(connection), tables })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_copy(&self, source: i64) -> Result<Begun, Error> {
        let connection = self.connection();
        let known: Option<i64> =
            connection.query_row("SELECT max(source) FROM unfinished_copy", [], |row| row.get(0))?;
        if known == Some(source) {
            return Ok(Begun::Resumed);
        }
        // It was copied from another source, or from one that has changed.
        let transaction = connection.unchecked_transaction()?;
        for table in self.tables.iter().rev() {
            transaction.execute(&format!("DELETE FROM \"{}\"", table.name), [])?;
        }
        transaction.execute("DELETE FROM unfinished_copy", [])?;
        transaction.execute("INSERT INTO unfinished_copy (source) VALUES (?1)", [source])?;
        transaction.commit()?;
        Ok(Begun::Anew)
    }

    fn insert(&self, table: &Table, rows: &[Row]) -> Result<(), Error> {
        let names = table.columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let places = vec!["?"; table.columns.len()].join(", ");
        let statement = format!("INSERT INTO \"{}\" ({names}) VALUES ({places})", table.name);
        let connection = self.connection();
        let transaction = connection.unchecked_transaction()?;
        {
            let mut insert = transaction.prepare(&statement)?;
            for row in rows {
                insert.execute(params_from_iter(row.iter().map(bound)))?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn complete(&self, counters: &[(String, i64)]) -> Result<(), Error> {
        const COUNTED: &str =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'";
        const KNOWN: &str = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?1";
        const FORGET: &str = "DELETE FROM sqlite_sequence WHERE name = ?1";
        const SET: &str = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
        let connection = self.connection();
        let sql = Sql::new(&connection);
        db::in_transaction(&sql, |sql| {
            memory::index_all(sql)?;
            let counted: Vec<String> = sql.all(COUNTED, [], |row| row.get(0))?;
            for (table, last) in counters.iter().filter(|(table, _)| counted.contains(table)) {
                let known: Option<i64> = sql.one(KNOWN, [table], |row| row.get(0))?;
                sql.execute(FORGET, [table])?;
                sql.execute(SET, rusqlite::params![table, (*last).max(known.unwrap_or(*last))])?;
            }
            sql.execute("DROP TABLE unfinished_copy", [])?;
            Ok(())
        })?;
        drop(sql);
        db::finish(&connection, db::VERSION)?;
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        drop(connection);
        let partial = partial(&self.path);
        let failed = |error| Error::file("could not complete", &self.path, error);
        File::options().write(true).open(&partial).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::hard_link(&partial, &self.path)
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => Err(error),
                // A file system without second names.
                _ => fs::rename(&partial, &self.path),
            })
            .map_err(failed)?;
        // It has its name already.
        let _ = fs::remove_file(&partial);
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

/// The file that a copy is written to.
fn partial(path: &Path) -> PathBuf {
    sibling(path, PARTIAL)
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn read_only(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, flags)?)
}

fn is_unfinished(partial: &Path) -> bool {
    matches!(db::format(partial), Ok(Some(db::VERSION)))
        && read_only(partial).is_ok_and(|connection| {
            connection.query_row("SELECT count(*) FROM unfinished_copy", [], |_| Ok(())).is_ok()
        })
}

#[async_trait]
impl RowStorage for FileRows {
    async fn tables(&self) -> CoreResult<Vec<Table>> {
        Ok(self.tables.clone())
    }

    async fn extent(&self, table: &Table) -> CoreResult<Extent> {
        let extent = || -> Result<Extent, Error> {
            let connection = self.connection();
            let count = format!("SELECT count(*) FROM \"{}\"", table.name);
            let rows: i64 = connection.query_row(&count, [], |row| row.get(0))?;
            Ok(Extent { rows: rows.unsigned_abs(), last: last_key(&connection, table)? })
        };
        Ok(extent()?)
    }

    async fn read(&self, behind: HashMap<String, Row>) -> CoreResult<Batches> {
        let (send, batches) = mpsc::channel(QUEUED);
        let (path, tables) = (self.path.clone(), self.tables.clone());
        let path = if path.exists() { path } else { partial(&path) };
        let read = move || {
            if let Err(error) = send_all(&path, &tables, &behind, &send) {
                // Who no longer listens has seen an error already.
                drop(send.blocking_send(Err(error.into())));
            }
        };
        let thread = std::thread::Builder::new().name("aethon-rows".to_owned());
        thread.spawn(read).map_err(Error::thread)?;
        Ok(batches)
    }

    async fn counters(&self) -> CoreResult<Vec<(String, i64)>> {
        let counters = || -> Result<_, Error> {
            let connection = self.connection();
            let mut query = connection.prepare("SELECT name, seq FROM sqlite_sequence ORDER BY name")?;
            let counters = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(counters.collect::<Result<Vec<_>, _>>()?)
        };
        Ok(counters()?)
    }

    async fn begin(&self, source: i64) -> CoreResult<Begun> {
        Ok(self.begin_copy(source)?)
    }

    async fn add(&self, table: &Table, rows: Vec<Row>) -> CoreResult<()> {
        Ok(self.insert(table, &rows)?)
    }

    async fn finish(&self, counters: Vec<(String, i64)>) -> CoreResult<()> {
        Ok(self.complete(&counters)?)
    }
}

/// Sends all rows of one moment.
fn send_all(
    path: &Path,
    tables: &[Table],
    behind: &HashMap<String, Row>,
    send: &mpsc::Sender<CoreResult<Batch>>,
) -> Result<(), Error> {
    let connection = read_only(path)?;
    let snapshot = connection.unchecked_transaction()?;
    for table in tables {
        let quoted = |columns: &mut dyn Iterator<Item = &String>| {
            columns.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        };
        let columns = quoted(&mut table.columns.iter());
        let key = quoted(&mut table.key.iter().map(|column| &table.columns[*column]));
        let last = behind.get(&table.name);
        let places = vec!["?"; table.key.len()].join(", ");
        let after = last.map_or_else(String::new, |_| format!(" WHERE ({key}) > ({places})"));
        let mut query =
            snapshot.prepare(&format!("SELECT {columns} FROM \"{}\"{after} ORDER BY {key}", table.name))?;
        let mut rows = query.query(params_from_iter(last.into_iter().flatten().map(bound)))?;
        let mut gathering = Gathering::of(&table.name);
        let pass_on = |batch: Batch| send.blocking_send(Ok(batch)).map_err(|_| Error::closed());
        while let Some(row) = rows.next()? {
            gathering.add(cells(row, table.columns.len())?).map_or(Ok(()), pass_on)?;
        }
        gathering.rest().map_or(Ok(()), pass_on)?;
    }
    Ok(())
}
