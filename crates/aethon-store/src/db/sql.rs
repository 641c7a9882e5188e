//! A connection with its prepared statements.
//!
//! Statements borrow their connection, so this lives on the stack of the thread that owns the connection. Each statement
//! is compiled once and found again by the address of its text, which is why only `'static` text is taken.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, Params, Result, Row, Statement};

/// A connection and what was prepared on it.
pub(crate) struct Sql<'c> {
    connection: &'c Connection,
    prepared: RefCell<HashMap<usize, Statement<'c>>>,
    /// How many steps SQLite's machine has made, for tests of what something costs.
    #[cfg(test)]
    pub(crate) steps: std::cell::Cell<i64>,
}

impl<'c> Sql<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            prepared: RefCell::default(),
            #[cfg(test)]
            steps: std::cell::Cell::default(),
        }
    }

    /// Runs a statement and tells how many rows it changed.
    pub(crate) fn execute(&self, sql: &'static str, params: impl Params) -> Result<usize> {
        self.with(sql, |statement| statement.execute(params))
    }

    /// Inserts a row and tells its number.
    pub(crate) fn insert(&self, sql: &'static str, params: impl Params) -> Result<i64> {
        self.with(sql, |statement| statement.execute(params))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.with(sql, |statement| statement.query(params)?.next()?.map(map).transpose())
    }

    /// The only row of a query that always has one.
    pub(crate) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.first(sql, params, map)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// All rows.
    pub(crate) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.with(sql, |statement| statement.query_map(params, map)?.collect())
    }

    /// Rows until one is not wanted any more.
    pub(crate) fn take<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        self.with(sql, |statement| {
            let (mut rows, mut taken) = (statement.query(params)?, Vec::new());
            while let Some(row) = rows.next()? {
                let Some(item) = map(row)? else { break };
                taken.push(item);
            }
            Ok(taken)
        })
    }

    /// The connection itself.
    pub(crate) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Takes the statement out while it is used, so that a query inside a query cannot meet a borrowed table.
    fn with<T>(&self, sql: &'static str, run: impl FnOnce(&mut Statement<'c>) -> Result<T>) -> Result<T> {
        let key = sql.as_ptr() as usize;
        let kept = self.prepared.borrow_mut().remove(&key);
        let mut statement = match kept {
            Some(statement) => statement,
            None => {
                #[cfg(test)]
                super::plans::note(self.connection, sql);
                self.connection.prepare(sql)?
            }
        };
        let result = run(&mut statement);
        #[cfg(test)]
        self.steps.update(|sum| sum + i64::from(statement.reset_status(rusqlite::StatementStatus::VmStep)));
        self.prepared.borrow_mut().insert(key, statement);
        result
    }
}
