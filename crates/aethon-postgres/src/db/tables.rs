//! The tables of the schema as the server describes them, and statements made for them.

use std::collections::HashMap;
use std::fmt::Write as _;

use aethon_core::storage::rows::{Cell, Row, Table, parents_first};
use tokio_postgres::Row as Raw;
use tokio_postgres::types::Type;

use super::sql::Sql;
use super::value::Value;
use crate::error::Error;

/// A table with what a statement needs.
pub(crate) struct Described {
    pub(crate) table: Table,
    /// The types of its columns.
    types: Vec<String>,
    /// Columns that are not copied and have no default, with what stands in them.
    filled: Vec<String>,
}

/// Describes all tables of the schema but these.
pub(crate) fn describe(
    sql: &Sql<'_>,
    own_tables: &[&str],
    own_columns: &[(&str, &str)],
) -> Result<Vec<Described>, Error> {
    const COLUMNS: &str = r#"SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL),
        coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)::int8
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
        WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
        ORDER BY c.relname, a.attname::text COLLATE "C""#;
    const PARENTS: &str = "SELECT child.relname::text, parent.relname::text FROM pg_constraint
        JOIN pg_class child ON child.oid = conrelid JOIN pg_class parent ON parent.oid = confrelid
        WHERE contype = 'f' AND connamespace = current_schema()::regnamespace";
    type Column = (String, String, String, i64);
    let columns: Vec<Column> =
        sql.all(COLUMNS, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let parents: Vec<(String, String)> = sql.all(PARENTS, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut found: HashMap<String, (Described, Vec<(i64, usize)>)> = HashMap::new();
    for (table, column, kind, place) in columns {
        if own_tables.contains(&table.as_str()) {
            continue;
        }
        let (described, key) = found.entry(table.clone()).or_insert_with(|| {
            let of_it = parents.iter().filter(|(child, _)| *child == table);
            let parents = of_it.map(|(_, parent)| parent.clone()).collect();
            let table = Table { name: table.clone(), columns: Vec::new(), key: Vec::new(), parents };
            (Described { table, types: Vec::new(), filled: Vec::new() }, Vec::new())
        });
        if own_columns.contains(&(table.as_str(), column.as_str())) {
            described.filled.push(column);
            continue;
        }
        if place > 0 {
            key.push((place, described.table.columns.len()));
        }
        described.table.columns.push(column);
        described.types.push(kind);
    }
    let mut all: HashMap<String, Described> = HashMap::new();
    for (name, (mut described, mut key)) in found {
        key.sort_unstable();
        described.table.key = key.into_iter().map(|(_, column)| column).collect();
        all.insert(name, described);
    }
    let sorted = parents_first(all.values().map(|described| described.table.clone()).collect());
    Ok(sorted.iter().filter_map(|table| all.remove(&table.name)).collect())
}

impl Described {
    /// The statement for the number of rows and the last key.
    pub(crate) fn extent(&self) -> (String, String) {
        let key = self.key().join(", ");
        let backwards =
            self.key().iter().map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ");
        let name = quoted(&self.table.name);
        (
            format!("SELECT count(*) FROM {name}"),
            format!("SELECT {key} FROM {name} ORDER BY {backwards} LIMIT 1"),
        )
    }

    /// The statement for all rows behind a key.
    pub(crate) fn read(&self, behind: bool) -> String {
        let columns = self.table.columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
        let key = self.key().join(", ");
        let places =
            (1..=self.table.key.len()).map(|place| format!("${place}")).collect::<Vec<_>>().join(", ");
        let behind = if behind { format!(" WHERE ({key}) > ({places})") } else { String::new() };
        format!("SELECT {columns} FROM {}{behind} ORDER BY {key}", quoted(&self.table.name))
    }

    /// The statement that adds rows from one JSON array of objects.
    pub(crate) fn add(&self) -> String {
        let columns: Vec<String> = self.table.columns.iter().map(|column| quoted(column)).collect();
        let typed: Vec<String> =
            columns.iter().zip(&self.types).map(|(column, kind)| format!("{column} {kind}")).collect();
        let filled: Vec<String> = self.filled.iter().map(|column| quoted(column)).collect();
        let into = columns.iter().chain(&filled).cloned().collect::<Vec<_>>().join(", ");
        let nothing = vec!["''".to_owned(); filled.len()];
        let values = columns.iter().chain(&nothing).cloned().collect::<Vec<_>>().join(", ");
        format!(
            "INSERT INTO {} ({into}) SELECT {values} FROM json_to_recordset($1::text::json) AS added ({})",
            quoted(&self.table.name),
            typed.join(", ")
        )
    }

    /// The statement that removes all rows.
    pub(crate) fn empty(&self) -> String {
        format!("DELETE FROM {}", quoted(&self.table.name))
    }

    /// Reads a row.
    pub(crate) fn cells(&self, row: &Raw) -> Result<Row, Error> {
        (0..self.table.columns.len()).map(|column| cell(row, column)).collect()
    }

    /// Reads a key.
    pub(crate) fn key_cells(row: &Raw) -> Result<Row, Error> {
        (0..row.len()).map(|column| cell(row, column)).collect()
    }

    fn key(&self) -> Vec<String> {
        self.table
            .key
            .iter()
            .filter_map(|column| self.table.columns.get(*column))
            .map(|name| quoted(name))
            .collect()
    }
}

/// A name within a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn cell(row: &Raw, column: usize) -> Result<Cell, Error> {
    let kind = row.columns().get(column).map(|column| column.type_().clone());
    let cell = match kind {
        Some(Type::INT8) => row.try_get::<_, Option<i64>>(column)?.map(Cell::Integer),
        Some(Type::BOOL) => row.try_get::<_, Option<bool>>(column)?.map(|truth| Cell::Integer(truth.into())),
        Some(Type::FLOAT8) => row.try_get::<_, Option<f64>>(column)?.map(Cell::Real),
        Some(Type::TEXT) => row.try_get::<_, Option<String>>(column)?.map(Cell::Text),
        Some(Type::BYTEA) => row.try_get::<_, Option<Vec<u8>>>(column)?.map(Cell::Bytes),
        _ => return Err(Error::column("kind of value that can be copied")),
    };
    Ok(cell.unwrap_or(Cell::Null))
}

/// A value as a statement takes it.
pub(crate) fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(*number),
        Cell::Real(number) => Value::Real(*number),
        Cell::Text(text) => super::value::ToValue::to_value(text),
        Cell::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

/// Rows as one JSON array of objects, as [`Described::add`] takes them.
pub(crate) fn as_json(table: &Table, rows: &[Row]) -> String {
    let objects = rows.iter().map(|row| {
        let fields = table.columns.iter().zip(row).map(|(column, cell)| (column.clone(), json(cell)));
        serde_json::Value::Object(fields.collect())
    });
    serde_json::Value::Array(objects.collect()).to_string()
}

fn json(cell: &Cell) -> serde_json::Value {
    match cell {
        Cell::Null => serde_json::Value::Null,
        Cell::Integer(number) => (*number).into(),
        // The server reads what JSON has no number for from a text.
        Cell::Real(number) => serde_json::Number::from_f64(*number)
            .map_or_else(|| number.to_string().into(), serde_json::Value::Number),
        Cell::Text(text) if text.contains('\0') => text.replace('\0', "\u{fffd}").into(),
        Cell::Text(text) => text.as_str().into(),
        Cell::Bytes(bytes) => bytes
            .iter()
            .fold("\\x".to_owned(), |mut text, byte| {
                // Writing to a text never fails.
                let _ = write!(text, "{byte:02x}");
                text
            })
            .into(),
    }
}
