//! A connection with its prepared statements.
//!
//! Statements borrow their connection, so this lives on the stack of the thread that owns the connection. Each
//! statement is compiled once and looked up by the address of its text, which is why all methods take `&'static str`.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, Params, Result, Row, Statement};

/// A connection and its statement cache.
pub(crate) struct Sql<'c> {
    connection: &'c Connection,
    prepared: RefCell<HashMap<usize, Statement<'c>>>,
    /// Steps of SQLite's virtual machine so far, for tests of the cost of an operation.
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

    /// Executes a statement and returns the number of changed rows.
    pub(crate) fn execute(&self, sql: &'static str, params: impl Params) -> Result<usize> {
        self.with(sql, |statement| statement.execute(params))
    }

    /// Rolls back a transaction, unless SQLite has already done so by itself, as it does after some errors.
    pub(crate) fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK", [])
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }

    /// Inserts a row and returns its rowid.
    pub(crate) fn insert(&self, sql: &'static str, params: impl Params) -> Result<i64> {
        self.with(sql, |statement| statement.execute(params))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Returns the first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.with(sql, |statement| statement.query(params)?.next()?.map(map).transpose())
    }

    /// Returns the only row of a query that always has one.
    pub(crate) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.first(sql, params, map)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Returns all rows.
    pub(crate) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.with(sql, |statement| statement.query_map(params, map)?.collect())
    }

    /// Returns rows until `read` yields `None`.
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

    /// Returns the underlying connection.
    pub(crate) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Takes the statement out of the cache while it is in use, so that a nested query never finds the cache borrowed.
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
