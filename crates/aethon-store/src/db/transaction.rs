//! Transactions of the connection that writes.

use super::sql::Sql;
use crate::error::Error;

/// Runs a closure in its own transaction.
pub(crate) fn in_transaction<T>(
    sql: &Sql<'_>,
    work: impl FnOnce(&Sql<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    sql.execute("BEGIN IMMEDIATE", [])?;
    let done = work(sql).and_then(|result| {
        sql.execute("COMMIT", [])?;
        Ok(result)
    });
    if done.is_err() {
        roll_back(sql);
    }
    done
}

/// Rolls back, unless SQLite has done so.
pub(super) fn roll_back(sql: &Sql<'_>) {
    // SQLite has already rolled back by itself after some errors.
    if !sql.connection().is_autocommit()
        && let Err(error) = sql.execute("ROLLBACK", [])
    {
        tracing::error!(%error, "a transaction could not be rolled back");
    }
}
