//! Key-value records that channels keep. Maintenance removes the expired ones.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result as CoreResult;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::db::{Sql, params};
use crate::error::Error;
use crate::store::Store;
use crate::time::to_millis;

#[async_trait]
impl ChannelRecords for Store {
    async fn get(&self, channel: &str, name: &str) -> CoreResult<Option<String>> {
        let (key, now) = ((channel.to_owned(), name.to_owned()), self.now());
        Ok(self.read(move |sql| value(sql, (&key.0, &key.1), now)).await?)
    }

    async fn put(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> CoreResult<()> {
        let row = (channel.to_owned(), name.to_owned(), value.to_owned(), until.map(to_millis));
        Ok(self.write(move |sql| put(sql, &row)).await?)
    }

    async fn claim(
        &self,
        channel: &str,
        name: &str,
        value: &str,
        until: Option<Timestamp>,
    ) -> CoreResult<bool> {
        let row = (channel.to_owned(), name.to_owned(), value.to_owned(), until.map(to_millis));
        let now = self.now();
        let claim = move |sql: &Sql<'_>| {
            let is_free = self::value(sql, (&row.0, &row.1), now)?.is_none();
            if is_free {
                put(sql, &row)?;
            }
            Ok(is_free)
        };
        Ok(self.write(claim).await?)
    }

    async fn take(&self, channel: &str, name: &str) -> CoreResult<Option<String>> {
        const TAKE: &str = "DELETE FROM channel_records WHERE channel = $1 AND name = $2";
        let (key, now) = ((channel.to_owned(), name.to_owned()), self.now());
        let take = move |sql: &Sql<'_>| {
            let taken = value(sql, (&key.0, &key.1), now)?;
            sql.execute(TAKE, params![key.0, key.1])?;
            Ok(taken)
        };
        Ok(self.write(take).await?)
    }

    async fn list(&self, channel: &str, prefix: &str, limit: usize) -> CoreResult<Vec<(String, String)>> {
        // Scan from the prefix to just past the last name that can start with it; no name contains the upper bound's
        // character.
        const LIST: &str = "SELECT name, value FROM channel_records
            WHERE channel = $1 AND name >= $2 AND name < $3 AND (until IS NULL OR until > $4)
            ORDER BY name LIMIT $5";
        let (channel, prefix, now) = (channel.to_owned(), prefix.to_owned(), self.now());
        let end = format!("{prefix}\u{10ffff}");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = move |sql: &Sql<'_>| {
            let pair = |row: &crate::db::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            sql.all(LIST, params![channel, prefix, end, now, limit], pair)
        };
        Ok(self.read(read).await?)
    }
}

/// Removes up to `limit` expired records and returns how many.
pub(crate) fn forget_expired(sql: &Sql<'_>, now: i64, limit: i64) -> Result<usize, Error> {
    const FORGET: &str = "DELETE FROM channel_records WHERE (channel, name) IN
        (SELECT channel, name FROM channel_records WHERE until <= $1 ORDER BY until LIMIT $2)";
    sql.execute(FORGET, [now, limit])
}

fn value(sql: &Sql<'_>, (channel, name): (&str, &str), now: i64) -> Result<Option<String>, Error> {
    const VALUE: &str = "SELECT value FROM channel_records
        WHERE channel = $1 AND name = $2 AND (until IS NULL OR until > $3)";
    sql.first(VALUE, params![channel, name, now], |row| row.get(0))
}

fn put(
    sql: &Sql<'_>,
    (channel, name, value, until): &(String, String, String, Option<i64>),
) -> Result<(), Error> {
    const PUT: &str = "INSERT INTO channel_records (channel, name, value, until) VALUES ($1, $2, $3, $4)
        ON CONFLICT (channel, name) DO UPDATE SET value = $3, until = $4";
    sql.execute(PUT, params![channel, name, value, until])?;
    Ok(())
}
