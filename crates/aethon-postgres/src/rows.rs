//! The rows of a database on a server, for moving them and for backups.
//!
//! The words of messages and memories are not copied, because each storage has an index of its own kind: they are made anew
//! from the rows.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::error::Result as CoreResult;
use aethon_core::storage::rows::{Batch, Batches, Begun, Cell, Extent, Gathering, Row, RowStorage, Table};
use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use tokio::sync::mpsc;

use crate::db::{self, Address, Connection, Described, Durability, Pool, Sql, as_json, cell_value, quoted};
use crate::error::Error;
use crate::{memory, search};

/// Tables that follow from others, or belong to this database alone.
const OWN_TABLES: [&str; 8] = [
    "aethon_format",
    "commits",
    "owners",
    "roles",
    "memory_stems",
    "memory_words",
    "message_words",
    UNFINISHED,
];

/// Columns that the other storage does not have.
const OWN_COLUMNS: [(&str, &str); 1] = [("reservations", "instance")];

/// The table that is there while a copy is not complete.
const UNFINISHED: &str = "unfinished_copy";

/// How long the server may take to send the next row.
const ROW_WAIT: Duration = Duration::from_secs(60);

/// How many batches wait to be taken.
const QUEUED: usize = 4;

/// A database on a server as a set of tables. To be used within a runtime.
pub struct ServerRows {
    pool: Pool,
    words: String,
    tables: Arc<Vec<Described>>,
}

impl ServerRows {
    /// Connects to the server, and makes the tables if there are none.
    pub async fn open(url: &str) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let words = address.words();
        let pool = Pool::new(address)?;
        db::prepare(&pool, &words).await?;
        let tables = db::read(&pool, |sql| db::describe(sql, &OWN_TABLES, &OWN_COLUMNS)).await?;
        Ok(Self { pool, words, tables: Arc::new(tables) })
    }

    /// Names the database for a person, without any secret.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns which programs use the database now.
    pub async fn users(&self) -> Result<Vec<String>, Error> {
        const USERS: &str = "SELECT DISTINCT instance FROM owners
            WHERE lease_until > extract(epoch FROM clock_timestamp()) * 1000 ORDER BY instance LIMIT 20";
        db::read(&self.pool, |sql| sql.all(USERS, [], |row| row.get(0))).await
    }

    /// Returns whether a copy into the database was begun and not finished.
    pub async fn is_unfinished(&self) -> Result<bool, Error> {
        db::read(&self.pool, is_unfinished).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        db::write(&self.pool, Durability::AsServer, work).await
    }

    fn table(&self, name: &str) -> Result<usize, Error> {
        let position = self.tables.iter().position(|described| described.table.name == name);
        position.ok_or_else(|| Error::setup(format!("the {} has no table {name}", self.words)))
    }
}

/// Returns whether a copy into the database was begun and not finished.
pub(crate) fn is_unfinished(sql: &Sql<'_>) -> Result<bool, Error> {
    const FOUND: &str = "SELECT to_regclass('unfinished_copy') IS NOT NULL";
    sql.one(FOUND, [], |row| row.get(0))
}

#[async_trait]
impl RowStorage for ServerRows {
    async fn tables(&self) -> CoreResult<Vec<Table>> {
        Ok(self.tables.iter().map(|described| described.table.clone()).collect())
    }

    async fn extent(&self, table: &Table) -> CoreResult<Extent> {
        let (count, last) = self.tables[self.table(&table.name)?].extent();
        let found = move |sql: &Sql<'_>| {
            let rows = sql.made(&count, &[])?;
            let rows = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))?;
            let last = sql.made(&last, &[])?.first().map(Described::key_cells).transpose()?;
            Ok(Extent { rows: rows.unsigned_abs(), last })
        };
        Ok(db::read(&self.pool, found).await?)
    }

    async fn read(&self, behind: HashMap<String, Row>) -> CoreResult<Batches> {
        let (send, batches) = mpsc::channel(QUEUED);
        let connection = self.pool.take_patiently(Instant::now() + ROW_WAIT).await?;
        let (pool, tables) = (self.pool.clone(), self.tables.clone());
        tokio::spawn(async move {
            match send_all(&connection, &tables, &behind, &send).await {
                Ok(()) => pool.give(connection),
                // Who no longer listens has seen an error already.
                Err(error) => drop(send.send(Err(error.into())).await),
            }
        });
        Ok(batches)
    }

    async fn counters(&self) -> CoreResult<Vec<(String, i64)>> {
        const COUNTERS: &str = "SELECT owner.relname::text, pg_sequences.last_value FROM pg_class counter
            JOIN pg_depend ON pg_depend.objid = counter.oid AND pg_depend.classid = 'pg_class'::regclass AND deptype = 'i'
            JOIN pg_class owner ON owner.oid = pg_depend.refobjid
            JOIN pg_sequences ON schemaname = current_schema() AND sequencename = counter.relname
            WHERE counter.relkind = 'S' AND counter.relnamespace = current_schema()::regnamespace
            AND pg_sequences.last_value IS NOT NULL ORDER BY 1";
        Ok(db::read(&self.pool, |sql| sql.all(COUNTERS, [], |row| Ok((row.get(0)?, row.get(1)?)))).await?)
    }

    async fn begin(&self, source: i64) -> CoreResult<Begun> {
        const KNOWN: &str = "SELECT source FROM unfinished_copy";
        const MARK: &str = "CREATE TABLE unfinished_copy (source BIGINT NOT NULL)";
        const NOTE: &str = "INSERT INTO unfinished_copy (source) VALUES ($1)";
        const CHANGE: &str = "UPDATE unfinished_copy SET source = $1";
        let (tables, words) = (self.tables.clone(), self.words.clone());
        let begin = move |sql: &Sql<'_>| {
            if is_unfinished(sql)? {
                if sql.first(KNOWN, [], |row| row.get::<i64>(0))? == Some(source) {
                    return Ok(Begun::Resumed);
                }
                // It was copied from another source, or from one that has changed.
                for described in tables.iter().rev() {
                    sql.made(&described.empty(), &[])?;
                }
                sql.execute(CHANGE, [source])?;
                return Ok(Begun::Anew);
            }
            for described in tables.iter() {
                if !sql.made(&described.extent().1, &[])?.is_empty() {
                    return Err(Error::setup(format!(
                        "the {words} is not empty ({}): copy into a new one, made with `createdb`",
                        described.table.name
                    )));
                }
            }
            sql.execute(MARK, [])?;
            sql.execute(NOTE, [source])?;
            Ok(Begun::Anew)
        };
        Ok(self.write(begin).await?)
    }

    async fn add(&self, table: &Table, rows: Vec<Row>) -> CoreResult<()> {
        let statement = self.tables[self.table(&table.name)?].add();
        let json = as_json(table, &rows);
        let words = if table.name == "messages" { message_words(table, &rows) } else { Vec::new() };
        let add = move |sql: &Sql<'_>| {
            sql.made(&statement, &[db::ToValue::to_value(&json)])?;
            search::index_many(sql, &words)
        };
        Ok(self.write(add).await?)
    }

    async fn finish(&self, counters: Vec<(String, i64)>) -> CoreResult<()> {
        const IDENTITIES: &str = "SELECT c.relname::text, a.attname::text FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
            WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace";
        const DONE: &str = "DROP TABLE unfinished_copy";
        let finish = move |sql: &Sql<'_>| {
            memory::index_all(sql)?;
            let all: Vec<(String, String)> = sql.all(IDENTITIES, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (table, column) in all {
                let known = counters.iter().find(|(name, _)| *name == table).map_or(0, |(_, last)| *last);
                let set = format!(
                    "SELECT setval(pg_get_serial_sequence('{0}', '{column}'), last) FROM
                    (SELECT greatest($1, (SELECT max({column}) FROM {0})) AS last) AS counted WHERE last > 0",
                    quoted(&table),
                );
                sql.made(&set, &[db::ToValue::to_value(&known)])?;
            }
            sql.execute(DONE, []).map(drop)
        };
        Ok(self.write(finish).await?)
    }
}

/// Sends all rows of one moment.
async fn send_all(
    connection: &Connection,
    tables: &[Described],
    behind: &HashMap<String, Row>,
    send: &mpsc::Sender<CoreResult<Batch>>,
) -> Result<(), Error> {
    let client = connection.client();
    db::begin_reading(connection).await?;
    for described in tables {
        let key = behind.get(&described.table.name);
        let values: Vec<_> = key.into_iter().flatten().map(cell_value).collect();
        let typed: Vec<_> = values.iter().map(|value| (value, value.kind())).collect();
        let statement = described.read(key.is_some());
        let mut rows = pin!(client.query_typed_raw(&statement, typed).await?);
        let mut gathering = Gathering::of(&described.table.name);
        loop {
            let next = tokio::time::timeout(ROW_WAIT, rows.try_next()).await;
            let Some(row) = next.map_err(|_| Error::lost("it did not answer for a minute"))?? else { break };
            if let Some(full) = gathering.add(described.cells(&row)?) {
                send.send(Ok(full)).await.map_err(|_| Error::closed())?;
            }
        }
        if let Some(rest) = gathering.rest() {
            send.send(Ok(rest)).await.map_err(|_| Error::closed())?;
        }
    }
    db::end_reading(connection).await
}

/// The words of messages, by their numbers.
fn message_words(table: &Table, rows: &[Row]) -> Vec<(i64, BTreeSet<String>)> {
    let place = |name: &str| table.columns.iter().position(|column| column == name);
    let (Some(id), Some(role), Some(content)) = (place("id"), place("role"), place("content")) else {
        return Vec::new();
    };
    let of = |row: &Row| match (row.get(id), row.get(role), row.get(content)) {
        (Some(Cell::Integer(id)), Some(Cell::Text(role)), Some(Cell::Text(content))) => {
            Some((*id, search::words_of(role, content)))
        }
        _ => None,
    };
    rows.iter().filter_map(of).filter(|(_, words)| !words.is_empty()).collect()
}
