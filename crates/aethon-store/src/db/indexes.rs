//! Finds faults in the file, and builds damaged indexes again.
//!
//! SQLite's own `REINDEX` first empties the old index, which fails if its pages cannot be read. Then the index is taken out of
//! the schema instead and created again. Its old pages stay behind; they take room and do no harm.

use rusqlite::{Connection, OptionalExtension, Result};

/// Runs a check that returns faults, and returns those that matter.
pub(crate) fn faults(connection: &Connection, check: &str) -> Result<Vec<String>> {
    let mut query = connection.prepare(check)?;
    // Faults of the trees of pages come as one row of many lines below a title.
    let rows: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let lines = rows.iter().flat_map(|row| row.lines()).filter(|line| matters(line));
    Ok(lines.map(str::to_owned).collect())
}

fn matters(line: &str) -> bool {
    // A page that nothing refers to takes room and does no harm.
    line != "ok" && !line.starts_with("*** in database ") && !line.ends_with(": never used")
}

/// Returns the indexes whose trees are named by these faults.
pub(crate) fn named_by(connection: &Connection, faults: &[String]) -> Result<Vec<String>> {
    const INDEXES: &str = "SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'";
    let tree = |fault: &String| fault.strip_prefix("Tree ")?.split(' ').next()?.parse::<i64>().ok();
    let trees: Vec<i64> = faults.iter().filter_map(tree).collect();
    let mut query = connection.prepare(INDEXES)?;
    let indexes = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let indexes: Vec<(String, i64)> = indexes.collect::<Result<_>>()?;
    Ok(indexes.into_iter().filter(|(_, root)| trees.contains(root)).map(|(name, _)| name).collect())
}

/// Builds an index again from its table.
pub(crate) fn rebuild(connection: &Connection, index: &str) -> Result<()> {
    if connection.execute_batch(&format!("REINDEX \"{index}\"")).is_ok() {
        return Ok(());
    }
    let done = connection.execute_batch("BEGIN IMMEDIATE").and_then(|()| create_anew(connection, index));
    let ended = connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    connection.execute_batch("PRAGMA writable_schema = RESET")?;
    done.and(ended)
}

fn create_anew(connection: &Connection, index: &str) -> Result<()> {
    const STATEMENT: &str =
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1 AND sql IS NOT NULL";
    const REMOVE: &str = "DELETE FROM sqlite_schema WHERE type = 'index' AND name = ?1";
    let statement: Option<String> = connection.query_row(STATEMENT, [index], |row| row.get(0)).optional()?;
    // The index of a constraint has no statement; it cannot be removed without its table.
    let statement = statement.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    connection.execute_batch("PRAGMA writable_schema = ON")?;
    connection.execute(REMOVE, [index])?;
    connection.execute_batch("PRAGMA writable_schema = RESET")?;
    connection.execute_batch(&statement)
}
