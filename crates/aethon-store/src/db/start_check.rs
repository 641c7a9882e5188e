//! A quick check of the file when the daemon starts, which rebuilds damaged indexes.
//!
//! An index holds nothing of its own, so a damaged one costs nothing but the time to build it again; left alone it would
//! refuse writes or a start. A damaged table is reported as such: its rows can only be saved by hand.
//!
//! The check reads a small file whole. Of a large one it reads as much as fits into a moment, small tables first; the rest is
//! found when it is read.

use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::indexes;
use crate::error::Error;

/// The check, without a bound to how many faults it names: pages that nothing refers to would use it up.
const QUICK_CHECK: &str = "PRAGMA quick_check(1000000)";

/// Files up to this size are checked whole.
const MAX_WHOLE: i64 = 64 << 20;

/// How long the check of a larger file may take.
const MAX_TIME: Duration = Duration::from_millis(100);

/// Steps of SQLite between two looks at the clock.
const STEPS: i32 = 10_000;

/// Tables that grow with the conversations; they are checked last.
const LARGE: [&str; 5] = ["message_words_data", "telemetry", "calls", "turns", "messages"];

/// Checks the file and rebuilds its damaged indexes. An error if it is damaged beyond that.
pub(crate) fn mend_indexes(connection: &mut Connection) -> Result<(), Error> {
    let faults = find(connection)?;
    if faults.is_empty() {
        return Ok(());
    }
    let damaged = indexes::named_by(connection, &faults)?;
    let mut rebuilt = Vec::new();
    for index in damaged {
        match indexes::rebuild(connection, &index) {
            Ok(()) => rebuilt.push(index),
            // The index of a constraint, or a table that cannot be read either. The remaining faults are returned below.
            Err(error) => {
                tracing::warn!(%error, index, "a damaged index of the database could not be rebuilt")
            }
        }
    }
    if !rebuilt.is_empty() {
        let indexes = rebuilt.join(", ");
        tracing::warn!(indexes, "indexes of the database were damaged and are rebuilt; nothing is lost");
    }
    match find(connection)?.as_slice() {
        [] => Ok(()),
        faults => Err(Error::damaged(&faults.join("; "))),
    }
}

/// Returns the faults, as SQLite describes them.
fn find(connection: &mut Connection) -> Result<Vec<String>, Error> {
    const SIZE: &str = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let size: i64 = connection.query_row(SIZE, [], |row| row.get(0))?;
    if size <= MAX_WHOLE {
        return Ok(indexes::faults(connection, QUICK_CHECK)?);
    }
    let until = Instant::now() + MAX_TIME;
    connection.progress_handler(STEPS, Some(move || Instant::now() >= until))?;
    let faults = find_in_tables(connection);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    faults
}

/// Checks one table after the other until the time is up.
fn find_in_tables(connection: &Connection) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    for table in tables(connection)? {
        match indexes::faults(connection, &format!("PRAGMA quick_check(\"{table}\")")) {
            Ok(found) => faults.extend(found),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(faults)
}

/// The tables, large ones last.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    const TABLES: &str =
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow')
        AND name NOT LIKE 'sqlite_%'";
    let mut query = connection.prepare(TABLES)?;
    let mut tables: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    tables.sort_by_key(|name| LARGE.iter().position(|large| large == name).map_or(0, |place| place + 1));
    Ok(tables)
}
