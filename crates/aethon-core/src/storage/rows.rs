//! The rows of a storage, for moving them to another one and for backups.
//!
//! A storage is a set of tables here, and knows nothing of what they mean. Every backend names its tables and columns alike, so
//! what one reads another can add. Each leaves out what belongs to itself: indexes that follow from other tables, its format, and
//! who uses it.

use std::collections::HashMap;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::error::Result;

/// How many rows are read or added at a time.
const BATCH_ROWS: usize = 500;

/// How many bytes of texts are read at a time; a single row may be larger.
const BATCH_BYTES: usize = 1 << 20;

/// A value. Truth is 0 or 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Cell {
    /// Its size in bytes, roughly.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 8,
        }
    }
}

/// A row, in the order of its table's columns.
pub type Row = Vec<Cell>;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, sorted by name.
    pub columns: Vec<String>,
    /// Which of the columns are its key, in the order of the key.
    pub key: Vec<usize>,
    /// The tables that its rows refer to.
    pub parents: Vec<String>,
}

impl Table {
    /// The key of a row.
    pub fn key_of(&self, row: &[Cell]) -> Row {
        self.key.iter().filter_map(|column| row.get(*column).cloned()).collect()
    }
}

/// Sorts tables by name, and those that others refer to before these.
pub fn parents_first(mut tables: Vec<Table>) -> Vec<Table> {
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    let mut sorted: Vec<Table> = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let waits = |table: &Table| {
            tables.iter().any(|other| other.name != table.name && table.parents.contains(&other.name))
        };
        // A circle has no order, and is taken as it comes.
        let next = tables.iter().position(|table| !waits(table)).unwrap_or(0);
        sorted.push(tables.remove(next));
    }
    sorted
}

/// How much of a table there is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extent {
    /// The number of its rows.
    pub rows: u64,
    /// The key of the last one.
    pub last: Option<Row>,
}

/// Rows of one table, in the order of their keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The name of the table.
    pub table: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// Gathers the rows of one table into batches.
#[derive(Debug)]
pub struct Gathering {
    batch: Batch,
    size: usize,
}

impl Gathering {
    /// Begins with a table of this name.
    pub fn of(table: &str) -> Self {
        Self { batch: Batch { table: table.to_owned(), rows: Vec::new() }, size: 0 }
    }

    /// Adds a row. Returns the batch once it is full.
    pub fn add(&mut self, row: Row) -> Option<Batch> {
        self.size += row.iter().map(Cell::size).sum::<usize>();
        self.batch.rows.push(row);
        if self.batch.rows.len() < BATCH_ROWS && self.size < BATCH_BYTES {
            return None;
        }
        let next = Self::of(&self.batch.table);
        std::mem::replace(self, next).rest()
    }

    /// Returns the rows that are left, if there are any.
    pub fn rest(self) -> Option<Batch> {
        (!self.batch.rows.is_empty()).then_some(self.batch)
    }
}

/// Rows as they are read, table by table, in the order of [`RowStorage::tables`]. An error is the last thing that comes.
pub type Batches = mpsc::Receiver<Result<Batch>>;

/// Whether a copy is begun or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// The storage was empty.
    Anew,
    /// It holds a part of a copy from the same source.
    Resumed,
}

/// A storage as a set of tables. Nothing else may use one that is added to.
#[async_trait]
pub trait RowStorage: Send + Sync {
    /// The tables, with those that others refer to before these.
    async fn tables(&self) -> Result<Vec<Table>>;

    /// How much of a table there is.
    async fn extent(&self, table: &Table) -> Result<Extent>;

    /// Reads all tables as they are at one moment; of each, the rows behind a key.
    async fn read(&self, behind: HashMap<String, Row>) -> Result<Batches>;

    /// The last numbers that were given in tables whose numbers are never given twice.
    async fn counters(&self) -> Result<Vec<(String, i64)>>;

    /// Begins a copy, or goes on with one from the same source. Refuses a storage that holds anything else. Until
    /// [`finish`](Self::finish), the storage cannot be used as one.
    async fn begin(&self, source: i64) -> Result<Begun>;

    /// Adds rows to a table: all of them or none.
    async fn add(&self, table: &Table, rows: Vec<Row>) -> Result<()>;

    /// Completes what follows from the rows. From here on the storage can be used.
    async fn finish(&self, counters: Vec<(String, i64)>) -> Result<()>;
}

#[cfg(test)]
#[test]
fn batches_are_full_by_rows_or_by_bytes() {
    let mut gathering = Gathering::of("a");
    for number in 1..BATCH_ROWS {
        assert_eq!(gathering.add(vec![Cell::Null]), None, "{number}");
    }
    assert_eq!(gathering.add(vec![Cell::Null]).map(|batch| batch.rows.len()), Some(BATCH_ROWS));
    let large = || vec![Cell::Text("x".repeat(BATCH_BYTES / 2))];
    assert_eq!(gathering.add(large()), None);
    assert_eq!(gathering.add(large()).map(|batch| batch.rows.len()), Some(2));
    assert_eq!(gathering.add(vec![Cell::Null]), None);
    let rest = gathering.rest().map(|batch| (batch.table, batch.rows.len()));
    assert_eq!(rest, Some(("a".to_owned(), 1)));
    assert_eq!(Gathering::of("a").rest(), None);
}

#[cfg(test)]
#[test]
fn tables_stand_behind_those_they_refer_to() {
    let table = |name: &str, parents: &[&str]| Table {
        name: name.to_owned(),
        columns: Vec::new(),
        key: Vec::new(),
        parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
    };
    let sorted = parents_first(vec![
        table("runs", &["tasks"]),
        table("tasks", &["works", "tasks"]),
        table("works", &[]),
        table("a", &[]),
    ]);
    let names: Vec<&str> = sorted.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["a", "works", "tasks", "runs"]);
}
