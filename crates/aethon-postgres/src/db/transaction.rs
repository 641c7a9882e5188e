//! Transactions: work runs on a thread of its own, from the start again when its connection is lost or another transaction was
//! in the way, and a commit that nobody has confirmed is looked up.
//!
//! All that writes takes one lock first, so that numbers are given in the order of commits, as the contract asks, and no two
//! writers ever see half of each other. Whoever reads sees one moment and waits for nobody.

use std::time::Instant;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio_postgres::types::{ToSql, Type};

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

/// Takes the lock of all writers.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(1096107, hashtext(current_schema()))";

/// Leaves a token behind, which is there when the transaction is.
const SIGN: &str = "INSERT INTO commits (token) VALUES ($1)";

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
            Ok(token) => {
                let (connection, given, result) = run(connection, work).await?;
                work = given;
                end(pool, connection, &token, result, until).await
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

/// Begins, takes the lock and leaves a token, which it returns; all in one round trip.
async fn begin(connection: &Connection, durability: Durability) -> Result<String, Error> {
    let (client, token) = (&connection.client, aethon_core::ids::unique());
    let signature: [(&(dyn ToSql + Sync), Type); 1] = [(&token, Type::TEXT)];
    let (begun, locked, signed) = tokio::join!(
        client.batch_execute(durability.begin()),
        client.query_typed_one(LOCK, &[]),
        client.execute_typed(SIGN, &signature),
    );
    begun?;
    locked?;
    signed?;
    Ok(token)
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
    token: &str,
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
            if was_committed(pool, token, until).await? { Ok(done) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}

/// Finds out whether the transaction that left this token was committed. The server may still be at work on it: it is over when
/// the lock is free. The number of a transaction would not do, because a server that crashed gives it again.
async fn was_committed(pool: &Pool, token: &str, until: Instant) -> Result<bool, Error> {
    const FOUND: &str = "SELECT EXISTS (SELECT 1 FROM commits WHERE token = $1)";
    loop {
        let connection = pool.take_patiently(until).await?;
        let client = &connection.client;
        let asked = async {
            client.batch_execute(Durability::AsServer.begin()).await?;
            client.query_typed_one(LOCK, &[]).await?;
            let found: bool = client.query_typed_one(FOUND, &[(&token, Type::TEXT)]).await?.try_get(0)?;
            client.batch_execute(ROLL_BACK).await?;
            Ok::<_, tokio_postgres::Error>(found)
        };
        match asked.await.map_err(Error::from) {
            Ok(found) => {
                pool.give(connection);
                return Ok(found);
            }
            Err(error) if !error.is_passing() || Instant::now() + PAUSE >= until => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Forgets the tokens of transactions that nobody asks about any more.
pub(crate) fn forget_tokens(sql: &Sql<'_>) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM commits WHERE at < now() - INTERVAL '1 hour'";
    sql.execute(FORGET, []).map(drop)
}
