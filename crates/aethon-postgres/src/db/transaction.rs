//! Transactions: work runs on a thread of its own, from the start again when its connection is lost or another transaction was
//! in the way, and an unconfirmed commit is looked up.
//!
//! All that writes takes one lock first, so that numbers are given in the order of commits, as the contract asks, and no two
//! writers ever see half of each other. Readers see one moment and wait for no one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio_postgres::types::{ToSql, Type};

use super::pool::{CONNECT_TIMEOUT, Connection, PAUSE, Pool};
use super::sql::Sql;
use crate::error::Error;

const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const COMMIT: &str = "COMMIT";
const ROLL_BACK: &str = "ROLLBACK";

/// How a writing transaction begins: the server's time limit for a program that hangs in it, and when a commit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// As the server is set up.
    AsServer,
    /// On the disk.
    Full,
}

/// The statements with which every writing transaction begins.
macro_rules! begin_writing {
    () => {
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
        SET LOCAL lock_timeout = '40s'; SET LOCAL idle_in_transaction_session_timeout = '3s';
        SET LOCAL statement_timeout = 0"
    };
}

impl Durability {
    fn begin(self) -> &'static str {
        // A program that stands still in the middle is cut off while the leases of those that wait for it last, even if two more
        // of its transactions stand in line behind the first. One that was only slow begins again. No time limit of the role may
        // end the wait for a synchronous standby: the commit would count as made, with no more than a warning.
        match self {
            Self::AsServer => begin_writing!(),
            Self::Full => concat!(begin_writing!(), "; SET LOCAL synchronous_commit = on"),
        }
    }
}

/// Takes the lock of all writers.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(1096107, hashtext(current_schema()))";

/// How long the server may take to begin, which includes the wait for the lock, or to end a transaction. A connection on which
/// it takes longer is given up.
const BEGIN_WAIT: Duration = Duration::from_secs(50);
const END_WAIT: Duration = Duration::from_secs(60);

/// Leaves a token behind, which is there when the transaction is.
const SIGN: &str = "INSERT INTO commits (token) VALUES ($1)";

/// The work of a transaction. Behind a pointer, because what runs it would else be compiled once for each of over a hundred
/// callers, which is megabytes.
type Work = Box<dyn FnMut(&Sql<'_>) -> Result<(), Error> + Send>;

/// What work leaves behind; the last run counts.
struct Left<T>(Arc<Mutex<Option<T>>>);

impl<T: Send + 'static> Left<T> {
    /// Makes work that leaves behind what `work` returns.
    fn by(mut work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static) -> (Work, Self) {
        let place = Arc::new(Mutex::new(None));
        let left = Self(place.clone());
        let work = move |sql: &Sql<'_>| {
            let made = work(sql)?;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
            Ok(())
        };
        (Box::new(work), left)
    }

    fn take(self) -> Result<T, Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(unexpected)
    }
}

fn unexpected() -> Error {
    aethon_core::error::Error::internal("the storage failed unexpectedly").into()
}

/// Reads.
pub(crate) async fn read<T: Send + 'static>(
    pool: &Pool,
    work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (work, left) = Left::by(work);
    let pool = pool.clone();
    apart(async move { run_reading(&pool, work).await }).await?;
    left.take()
}

/// Writes. What `work` returns is committed before this returns.
pub(crate) async fn write<T: Send + 'static>(
    pool: &Pool,
    durability: Durability,
    work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (work, left) = Left::by(work);
    let pool = pool.clone();
    apart(async move { run_writing(&pool, durability, work).await }).await?;
    left.take()
}

/// Runs a transaction in a task of its own. Its caller may be slow to come back to it, as one branch of a `select` or one of many in
/// a stream, and the transaction would hold its connection, or the lock of all writers, until then.
async fn apart(transaction: impl Future<Output = Result<(), Error>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(transaction).await.map_err(|_| unexpected())?
}

async fn run_reading(pool: &Pool, mut work: Work) -> Result<(), Error> {
    let until = Instant::now() + CONNECT_TIMEOUT;
    loop {
        let connection = pool.take_patiently(until).await?;
        let begun = in_time(BEGIN_WAIT, connection.client.batch_execute(BEGIN_READING)).await;
        let result = match begun {
            Ok(()) => {
                let (connection, given, result) = run(connection, work).await?;
                work = given;
                // One that is lost is not used again.
                if !result.as_ref().is_err_and(Error::is_lost)
                    && in_time(END_WAIT, connection.client.batch_execute(ROLL_BACK)).await.is_ok()
                {
                    pool.give(connection);
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

/// Begins a transaction that sees one moment.
pub(crate) async fn begin_reading(connection: &Connection) -> Result<(), Error> {
    in_time(BEGIN_WAIT, connection.client.batch_execute(BEGIN_READING)).await
}

/// Ends it.
pub(crate) async fn end_reading(connection: &Connection) -> Result<(), Error> {
    in_time(END_WAIT, connection.client.batch_execute(ROLL_BACK)).await
}

async fn run_writing(pool: &Pool, durability: Durability, mut work: Work) -> Result<(), Error> {
    let _turn = pool.turn_to_write().await?;
    let until = Instant::now() + CONNECT_TIMEOUT;
    loop {
        let connection = pool.take_patiently(until).await?;
        let attempt = match begin(&connection, durability).await {
            Ok(token) => {
                let (connection, given, result) = run(connection, work).await?;
                work = given;
                end(pool, connection, &token, result).await
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
    let all = async {
        let (begun, locked, signed) = tokio::join!(
            client.batch_execute(durability.begin()),
            client.query_typed_one(LOCK, &[]),
            client.execute_typed(SIGN, &signature),
        );
        begun.and(locked.map(drop)).and(signed.map(drop))
    };
    in_time(BEGIN_WAIT, all).await?;
    Ok(token)
}

/// Waits for the server within a time limit: a connection may be open with nothing at its other end.
async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(Error::from),
        Err(_) => Err(Error::lost(format!("no answer for {} s", limit.as_secs()))),
    }
}

/// Runs the work on a thread that may wait.
async fn run(connection: Connection, mut work: Work) -> Result<(Connection, Work, Result<(), Error>), Error> {
    let runtime = Handle::current();
    let done = spawn_blocking(move || {
        let result = work(&Sql::new(&connection.client, runtime));
        (connection, work, result)
    });
    // The connection is gone with a panic, and its transaction with it.
    done.await.map_err(|_| unexpected())
}

/// Commits what succeeded, and rolls back what did not.
async fn end(
    pool: &Pool,
    connection: Connection,
    token: &str,
    result: Result<(), Error>,
) -> Result<(), Error> {
    if let Err(error) = result {
        // One that is lost is not used again.
        if !error.is_lost() && in_time(END_WAIT, connection.client.batch_execute(ROLL_BACK)).await.is_ok() {
            pool.give(connection);
        }
        return Err(error);
    }
    match in_time(END_WAIT, connection.client.batch_execute(COMMIT)).await {
        Ok(()) => {
            pool.give(connection);
            Ok(())
        }
        Err(error) if error.is_lost() => {
            drop(connection);
            if was_committed(pool, token).await? { Ok(()) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}

/// Finds out whether the transaction that left this token was committed. The server may still be at work on it: it is over when
/// the lock is free. The number of a transaction would not do, because a server that crashed gives it again.
///
/// A connection that ends while its commit waits for a synchronous standby leaves the commit behind on this server alone, and a
/// failover would lose it. So the token is touched, and this commit waited for: what is committed before it is on the standby
/// when it is.
///
/// This waits for as long as the storage is open: a caller that sees a failure repeats the work, which may be done already.
async fn was_committed(pool: &Pool, token: &str) -> Result<bool, Error> {
    const TOUCH: &str = "UPDATE commits SET at = at WHERE token = $1";
    loop {
        let connection = match pool.take().await {
            Ok(connection) => connection,
            Err(error) if !error.is_passing() || pool.is_closed() => return Err(error),
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let client = &connection.client;
        let asked = async {
            client.batch_execute(Durability::Full.begin()).await?;
            client.query_typed_one(LOCK, &[]).await?;
            let found = client.execute_typed(TOUCH, &[(&token, Type::TEXT)]).await?;
            client.batch_execute(COMMIT).await?;
            Ok::<_, tokio_postgres::Error>(found > 0)
        };
        match in_time(BEGIN_WAIT, asked).await {
            Ok(found) => {
                pool.give(connection);
                return Ok(found);
            }
            Err(error) if pool.is_closed() => return Err(error),
            // The connection may be in a transaction that failed, and is dropped.
            Err(error) => {
                tracing::debug!(%error, "it is not known yet whether a commit was made");
                drop(connection);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Forgets the tokens of transactions that will not be looked up any more.
pub(crate) fn forget_tokens(sql: &Sql<'_>) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM commits WHERE at < now() - INTERVAL '1 hour'";
    sql.execute(FORGET, []).map(drop)
}
