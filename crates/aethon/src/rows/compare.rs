//! Compares two storages row by row.

use std::collections::{HashMap, VecDeque};

use aethon_core::storage::rows::{Batches, Cell, Row, RowStorage};

use crate::error::{Error, Result};

/// Refuses two storages of which a row differs. `progress` gets the number of rows that were compared.
pub(super) async fn compare(
    one: &dyn RowStorage,
    other: &dyn RowStorage,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<()> {
    let mut one = Stream::of(one.read(HashMap::new()).await?);
    let mut other = Stream::of(other.read(HashMap::new()).await?);
    let mut done = 0;
    loop {
        let (left, right) = (one.next().await?, other.next().await?);
        match (left, right) {
            (None, None) => return Ok(()),
            (Some((table, row)), Some((other, copied))) if table == other && are_same(&row, &copied) => {}
            (Some((table, row)), _) | (None, Some((table, row))) => {
                let named = row.iter().find(|cell| matches!(cell, Cell::Integer(_) | Cell::Text(_)));
                return Err(Error::failed(format!(
                    "the copy differs in the table {table}, at the row that has {named:?}: remove the copy, and copy again"
                )));
            }
        }
        done += 1;
        if done % 1000 == 0 {
            progress(done);
        }
    }
}

fn are_same(one: &Row, other: &Row) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
}

fn is_same(one: &Cell, other: &Cell) -> bool {
    match (one, other) {
        // A server's texts cannot hold it.
        (Cell::Text(one), Cell::Text(other)) => {
            one == other || one.replace('\0', "\u{fffd}") == other.replace('\0', "\u{fffd}")
        }
        (Cell::Real(one), Cell::Real(other)) => one.to_bits() == other.to_bits() || one == other,
        _ => one == other,
    }
}

/// Rows one by one.
struct Stream {
    batches: Batches,
    table: String,
    rows: VecDeque<Row>,
}

impl Stream {
    fn of(batches: Batches) -> Self {
        Self { batches, table: String::new(), rows: VecDeque::new() }
    }

    async fn next(&mut self) -> Result<Option<(String, Row)>> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return Ok(Some((self.table.clone(), row)));
            }
            let Some(batch) = self.batches.recv().await else { return Ok(None) };
            let batch = batch?;
            (self.table, self.rows) = (batch.table, batch.rows.into());
        }
    }
}

#[cfg(test)]
#[test]
fn rows_are_the_same_when_every_cell_is() {
    let check = |one: Cell, other: Cell, expected: bool| {
        assert_eq!(are_same(&vec![one.clone()], &vec![other.clone()]), expected, "{one:?} {other:?}");
    };
    check(Cell::Integer(1), Cell::Integer(1), true);
    check(Cell::Integer(1), Cell::Integer(2), false);
    check(Cell::Integer(1), Cell::Real(1.0), false);
    check(Cell::Real(f64::NAN), Cell::Real(f64::NAN), true);
    check(Cell::Text("a\0b".into()), Cell::Text("a\u{fffd}b".into()), true);
    check(Cell::Text("a".into()), Cell::Text("b".into()), false);
    check(Cell::Null, Cell::Text(String::new()), false);
    check(Cell::Bytes(vec![1]), Cell::Bytes(vec![1, 2]), false);
    assert!(!are_same(&vec![Cell::Null], &vec![]));
}
