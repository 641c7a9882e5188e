//! A connection, as the work of a transaction sees it.
//!
//! The work is plain code on a thread of its own that waits for each answer. So it reads like a list of statements, and can
//! run again from the start when its connection is lost.

use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use tokio::runtime::Handle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as Raw};

use super::row::Row;
use super::value::{Params, Value};
use crate::error::Error;

/// How long a statement may take. None reads more than a conversation.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection.
pub(crate) struct Sql<'c> {
    client: &'c Client,
    runtime: Handle,
}

impl<'c> Sql<'c> {
    pub(super) fn new(client: &'c Client, runtime: Handle) -> Self {
        Self { client, runtime }
    }

    /// Executes a statement and returns the number of changed rows.
    pub(crate) fn execute(&self, sql: &'static str, params: impl Params) -> Result<usize, Error> {
        self.change(sql, &params.values())
    }

    /// Inserts a row and returns the number that the statement returns.
    pub(crate) fn insert(&self, sql: &'static str, params: impl Params) -> Result<i64, Error> {
        self.one(sql, params, |row| row.get(0))
    }

    /// Returns the first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.made(sql, &params.values())?.first().map(|row| map(&Row(row))).transpose()
    }

    /// Returns the only row of a query that always has one.
    pub(crate) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.first(sql, params, map)?.ok_or_else(|| Error::column("row"))
    }

    /// Returns all rows.
    pub(crate) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.made(sql, &params.values())?.iter().map(|row| map(&Row(row))).collect()
    }

    /// Returns rows until `map` yields `None`. The rest is not kept in memory.
    pub(crate) fn take<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<Option<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut taken = Vec::new();
        self.each(sql, &params.values(), &mut |row| {
            let item = map(row)?;
            let goes_on = item.is_some();
            taken.extend(item);
            Ok(goes_on)
        })?;
        Ok(taken)
    }

    // What follows is no generic code: an inlined statement is some kilobytes for each of its callers.

    /// Runs a statement that was made for a table, and returns its rows.
    pub(crate) fn made(&self, sql: &str, values: &[Value]) -> Result<Vec<Raw>, Error> {
        self.wait(async { self.client.query_typed(sql, &typed(values)).await.map_err(Error::from) })
    }

    fn change(&self, sql: &str, values: &[Value]) -> Result<usize, Error> {
        let changed =
            self.wait(async { self.client.execute_typed(sql, &typed(values)).await.map_err(Error::from) })?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Shows rows to `visit` until it has seen enough and returns `false`.
    fn each(
        &self,
        sql: &str,
        values: &[Value],
        visit: &mut dyn FnMut(&Row<'_>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        self.wait(async {
            let typed = values.iter().map(|value| (value, value.kind()));
            let mut rows = pin!(self.client.query_typed_raw(sql, typed).await?);
            while let Some(row) = rows.try_next().await? {
                if !visit(&Row(&row))? {
                    break;
                }
            }
            Ok(())
        })
    }

    fn wait<T>(&self, run: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let waited = self.runtime.block_on(async { tokio::time::timeout(STATEMENT_TIMEOUT, run).await });
        waited.map_err(|_| Error::lost("it did not answer for a minute"))?
    }
}

/// The values with their types, as the client takes them.
fn typed(values: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ToSql + Sync), value.kind())).collect()
}
