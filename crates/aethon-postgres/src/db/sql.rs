//! A connection, as the work of a transaction sees it.
//!
//! The work is plain code on a thread of its own that waits for each answer. So it reads like a list of statements, and can
//! run again from the start when its connection is lost.

use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use tokio::runtime::Handle;
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
        let values = params.values();
        let run = async {
            let typed = values.iter().map(|value| (value as _, value.kind())).collect::<Vec<_>>();
            self.client.execute_typed(sql, &typed).await
        };
        let changed = self.wait(run)?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
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
        self.rows(sql, params)?.first().map(|row| map(&Row(row))).transpose()
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
        self.rows(sql, params)?.iter().map(|row| map(&Row(row))).collect()
    }

    /// Returns rows until `map` yields `None`. The rest is not kept in memory.
    pub(crate) fn take<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<Option<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let values = params.values();
        let mut taken = Vec::new();
        let run = async {
            let typed: Vec<(&Value, _)> = values.iter().map(|value| (value, value.kind())).collect();
            let mut rows = pin!(self.client.query_typed_raw(sql, typed).await?);
            while let Some(row) = rows.try_next().await? {
                let Some(item) = map(&Row(&row))? else { break };
                taken.push(item);
            }
            Ok::<_, Error>(())
        };
        self.wait(run)?;
        Ok(taken)
    }

    /// Runs a statement that was made for a table, and returns its rows.
    pub(crate) fn made(&self, sql: &str, values: &[Value]) -> Result<Vec<Raw>, Error> {
        self.wait(async {
            let typed = values.iter().map(|value| (value as _, value.kind())).collect::<Vec<_>>();
            self.client.query_typed(sql, &typed).await
        })
    }

    fn rows(&self, sql: &'static str, params: impl Params) -> Result<Vec<Raw>, Error> {
        let values = params.values();
        self.wait(async {
            let typed = values.iter().map(|value| (value as _, value.kind())).collect::<Vec<_>>();
            self.client.query_typed(sql, &typed).await
        })
    }

    fn wait<T, E: Into<Error>>(&self, run: impl Future<Output = Result<T, E>>) -> Result<T, Error> {
        let waited = self.runtime.block_on(async { tokio::time::timeout(STATEMENT_TIMEOUT, run).await });
        waited.map_err(|_| Error::lost("it did not answer for a minute"))?.map_err(Into::into)
    }
}
