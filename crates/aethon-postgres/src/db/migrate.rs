//! The format of the database: the oldest usable server, and the steps from one format to the next.

use super::pool::Pool;
use super::transaction::LOCK;
use crate::error::Error;

/// The steps, oldest first.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_everything.sql"),
    include_str!("migrations/0002_instances.sql"),
    include_str!("migrations/0003_bin.sql"),
];

/// The format that this program writes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// The oldest server with all the features that are used.
const OLDEST: i32 = 14;

/// Checks the server, and brings the database to the current format. Programs that do so at once wait for each other.
pub(crate) async fn prepare(pool: &Pool, words: &str) -> Result<(), Error> {
    const SERVER: &str = "SELECT current_setting('server_version_num')::int, current_setting('server_version'),
        current_setting('server_encoding'), pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
        current_schema()";
    const TABLE: &str = "CREATE TABLE IF NOT EXISTS aethon_format (
        version    BIGINT PRIMARY KEY,
        applied_at TIMESTAMPTZ NOT NULL DEFAULT now())";
    const FOUND: &str = "SELECT coalesce(max(version), 0) FROM aethon_format";
    const EXISTS: &str = "SELECT to_regclass('aethon_format') IS NOT NULL";
    let mut connection =
        pool.take_patiently(std::time::Instant::now() + super::pool::CONNECT_TIMEOUT).await?;
    let server = connection.client.query_typed_one(SERVER, &[]).await?;
    let (number, name, encoding): (i32, String, String) =
        (server.try_get(0)?, server.try_get(1)?, server.try_get(2)?);
    if number < OLDEST * 10_000 {
        return Err(Error::setup(format!(
            "the PostgreSQL server is too old ({name}): {OLDEST} or newer is needed"
        )));
    }
    if encoding != "UTF8" {
        return Err(Error::setup(format!(
            "the {words} holds {encoding} text: create one with `createdb --encoding UTF8 --template template0`"
        )));
    }
    if server.try_get::<_, Option<String>>(4)?.is_none() {
        return Err(Error::setup(format!(
            "no schema of the {words} can be used: grant the role USAGE and CREATE on it, or name it in `search_path`"
        )));
    }
    if server.try_get(3)? {
        return Err(Error::read_only());
    }
    let transaction = connection.client.transaction().await?;
    transaction.query_typed_one(LOCK, &[]).await?;
    let exists: bool = transaction.query_typed_one(EXISTS, &[]).await?.try_get(0)?;
    if !exists {
        transaction.batch_execute(TABLE).await?;
    }
    let found: i64 = transaction.query_typed_one(FOUND, &[]).await?.try_get(0)?;
    if found > VERSION {
        return Err(Error::setup(format!(
            "a newer version of aethon wrote the {words} (format {found}, this program knows {VERSION}): upgrade this program"
        )));
    }
    if (1..VERSION).contains(&found) {
        const USED: &str = "SELECT instance FROM owners WHERE is_daemon
            AND lease_until > extract(epoch FROM clock_timestamp()) * 1000 ORDER BY instance LIMIT 1";
        // It knows nothing of the new tables.
        if let Some(used) = transaction.query_typed(USED, &[]).await?.first() {
            return Err(Error::occupied(&used.try_get::<_, String>(0)?));
        }
    }
    let missing = STEPS.iter().zip(1_i64..).filter(|(_, version)| *version > found);
    for (step, version) in missing {
        const NOTE: &str = "INSERT INTO aethon_format (version) VALUES ($1)";
        transaction.batch_execute(step).await?;
        transaction.execute_typed(NOTE, &[(&version, tokio_postgres::types::Type::INT8)]).await?;
    }
    transaction.commit().await?;
    pool.give(connection);
    Ok(())
}
