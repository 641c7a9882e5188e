//! The tables of a database as SQLite describes them, and the values of their rows.

use std::collections::HashMap;

use aethon_core::storage::rows::{Cell, Row, Table, parents_first};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row as Raw};

/// Describes all tables but these.
pub(crate) fn describe(connection: &Connection, own: &[&str]) -> rusqlite::Result<Vec<Table>> {
    const COLUMNS: &str = "SELECT list.name, info.name, info.pk FROM pragma_table_list AS list
        JOIN pragma_table_info(list.name) AS info
        WHERE list.schema = 'main' AND list.type = 'table' AND list.name NOT LIKE 'sqlite_%'
        ORDER BY list.name, info.name";
    const PARENTS: &str = r#"SELECT list.name, "table" FROM pragma_table_list AS list
        JOIN pragma_foreign_key_list(list.name) WHERE list.schema = 'main' AND list.type = 'table'"#;
    let mut columns = connection.prepare(COLUMNS)?;
    let columns = columns.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    })?;
    let mut parents = connection.prepare(PARENTS)?;
    let parents = parents.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let parents: Vec<(String, String)> = parents.collect::<Result<_, _>>()?;
    let mut found: HashMap<String, (Table, Vec<(i64, usize)>)> = HashMap::new();
    for column in columns {
        let (table, column, place) = column?;
        if own.contains(&table.as_str()) {
            continue;
        }
        let (table, key) = found.entry(table.clone()).or_insert_with(|| {
            let of_it = parents.iter().filter(|(child, _)| *child == table);
            let parents = of_it.map(|(_, parent)| parent.clone()).collect();
            (Table { name: table.clone(), columns: Vec::new(), key: Vec::new(), parents }, Vec::new())
        });
        if place > 0 {
            key.push((place, table.columns.len()));
        }
        table.columns.push(column);
    }
    let keyed = found.into_values().map(|(mut table, mut key)| {
        key.sort_unstable();
        table.key = key.into_iter().map(|(_, column)| column).collect();
        table
    });
    Ok(parents_first(keyed.collect()))
}

/// Reads the first columns of a row.
pub(crate) fn cells(row: &Raw<'_>, width: usize) -> rusqlite::Result<Row> {
    (0..width).map(|column| Ok(cell(row.get_ref(column)?))).collect()
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        // What is no text any more is damaged; the rest of it is kept, as everywhere.
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}

/// A value as a statement takes it.
pub(crate) fn bound(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(*number),
        Cell::Real(number) => Value::Real(*number),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Bytes(bytes) => Value::Blob(bytes.clone()),
    }
}

/// The key of the last row of a table.
pub(crate) fn last_key(connection: &Connection, table: &Table) -> rusqlite::Result<Option<Row>> {
    let key: Vec<String> = table.key.iter().map(|column| format!("\"{}\"", table.columns[*column])).collect();
    let backwards = key.iter().map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ");
    let statement = format!("SELECT {} FROM \"{}\" ORDER BY {backwards} LIMIT 1", key.join(", "), table.name);
    let mut query = connection.prepare(&statement)?;
    query.query([])?.next()?.map(|row| cells(row, key.len())).transpose()
}
