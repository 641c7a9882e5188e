//! Transactions: work runs on a thread of its own, from the start again when its connection is lost or another transaction was
//! in the way, and a commit that nobody has confirmed is looked up.
//!
//! All that writes takes one lock first, so that numbers are given in the order of commits, as the contract asks, and no two
//! writers ever see half of each other. Whoever reads sees one moment and waits for nobody.

use std::time::Instant;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio_postgres::types::Type;

use super::pool::{Connection, PATIENCE, PAUSE, Pool};
use super::sql::Sql;
use crate::error::Error;

const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const COMMIT: &str = "COMMIT";
const ROLL_BACK: &str = "ROLLBACK";

/// How a transaction that writes begins: what the server does when a program hangs in the middle, and when a commit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// As the server is set up.
    AsServer,
    /// On the disk.
    Full,
}

impl Durability {
    fn begin(self) -> &'static str {
        match self {
            Self::AsServer => {
                "BEGIN; SET LOCAL lock_timeout = '20s'; SET LOCAL idle_in_transaction_session_timeout = '30s'"
            }
            Self::Full => {
                "BEGIN; SET LOCAL lock_timeout = '20s'; SET LOCAL idle_in_transaction_session_timeout = '30s';
                SET LOCAL synchronous_commit = on"
            }
        }
    }
}

/// Takes the lock of all writers, and the number by which the transaction can be looked up.
pub(super) const LOCK: &str =
    "SELECT pg_advisory_xact_lock(1096107, hashtext(current_schema())), pg_current_xact_id()::text";

/// Reads.
pub(crate) async fn read<T: Send + 'static>(
    pool: &Pool,
    mut work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        let connection = pool.take_patiently(until).await?;
        let begun = connection.client.batch_execute(BEGIN_READING).await.map_err(Error::from);
        let result = match begun {
            Ok(()) => {
                let (connection, given, result) = run(connection, work).await?;
                work = given;
                match connection.client.batch_execute(ROLL_BACK).await {
                    Ok(()) => pool.give(connection),
                    Err(error) => tracing::debug!(%error, "a connection is not used again"),
                }
                result
            }
            Err(error) => Err(error),
        };
        match result {
            Err(error) if error.is_passing() && Instant::now() + PAUSE < until => {
                tokio::time::sleep(PAUSE).await;
            }
            other => return other,
        }
    }
}

/// Writes. What `work` returns is committed before this returns.
pub(crate) async fn write<T: Send + 'static>(
    pool: &Pool,
    durability: Durability,
    mut work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        let connection = pool.take_patiently(until).await?;
        let attempt = match begin(&connection, durability).await {
            Ok(number) => {
                let (connection, given, result) = run(connection, work).await?;
                work = given;
                end(pool, connection, &number, result, until).await
            }
            Err(error) => Err(error),
        };
        match attempt {
            Err(error) if error.is_passing() && Instant::now() + PAUSE < until => {
                tokio::time::sleep(PAUSE).await;
            }
            other => return other,
        }
    }
}

/// Begins, takes the lock, and returns the number of the transaction; all in one round trip.
async fn begin(connection: &Connection, durability: Durability) -> Result<String, Error> {
    let client = &connection.client;
    let (begun, locked) =
        tokio::join!(client.batch_execute(durability.begin()), client.query_typed_one(LOCK, &[]));
    begun?;
    Ok(locked?.try_get(1)?)
}

/// Runs the work on a thread that may wait.
async fn run<T: Send + 'static, W>(
    connection: Connection,
    mut work: W,
) -> Result<(Connection, W, Result<T, Error>), Error>
where
    W: FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
{
    let runtime = Handle::current();
    let done = spawn_blocking(move || {
        let result = work(&Sql::new(&connection.client, runtime));
        (connection, work, result)
    });
    // The connection is gone with a panic, and its transaction with it.
    done.await.map_err(|_| aethon_core::error::Error::internal("the storage failed unexpectedly").into())
}

/// Commits what succeeded, and rolls back what did not.
async fn end<T>(
    pool: &Pool,
    connection: Connection,
    number: &str,
    result: Result<T, Error>,
    until: Instant,
) -> Result<T, Error> {
    let done = match result {
        Ok(done) => done,
        Err(error) => {
            if connection.client.batch_execute(ROLL_BACK).await.is_ok() {
                pool.give(connection);
            }
            return Err(error);
        }
    };
    match connection.client.batch_execute(COMMIT).await.map_err(Error::from) {
        Ok(()) => {
            pool.give(connection);
            Ok(done)
        }
        Err(error) if error.is_lost() => {
            drop(connection);
            if was_committed(pool, number, until).await? { Ok(done) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}

/// Asks the server what became of a transaction.
async fn was_committed(pool: &Pool, number: &str, until: Instant) -> Result<bool, Error> {
    const STATUS: &str = "SELECT pg_xact_status($1::text::xid8)";
    loop {
        let connection = pool.take_patiently(until).await?;
        let asked = connection.client.query_typed_one(STATUS, &[(&number, Type::TEXT)]).await;
        let status = asked.map_err(Error::from).and_then(|row| Ok(row.try_get::<_, Option<String>>(0)?));
        match status {
            Ok(status) => {
                pool.give(connection);
                match status.as_deref() {
                    Some("committed") => return Ok(true),
                    Some("in progress") if Instant::now() + PAUSE < until => {}
                    _ => return Ok(false),
                }
            }
            Err(error) if !error.is_passing() || Instant::now() + PAUSE >= until => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}
