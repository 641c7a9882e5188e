//! Cache of embedding vectors, keyed by the digest of the text.
//!
//! The time of last use has the resolution of a day, so that a hit is usually just a read. The least recently used
//! vectors are evicted; see [`crate::maintenance`].

use aethon_core::embed::{EmbeddingCache, TextKey};
use aethon_core::error::Result as CoreResult;
use aethon_core::finding::{vector_bytes as bytes, vector_numbers as numbers};
use async_trait::async_trait;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::store::Store;

/// Vectors written per transaction: some hundred kilobytes, which delays other writes only briefly.
const STEP: usize = 64;

#[async_trait]
impl EmbeddingCache for Store {
    async fn get(&self, model: &str, keys: &[TextKey]) -> CoreResult<Vec<Option<Vec<f32>>>> {
        let (today, model, keys) = (self.day(), model.to_owned(), keys.to_vec());
        let rows: Vec<_> = self
            .read(move |sql| keys.iter().map(|key| find(sql, &model, key)).collect::<Result<_, _>>())
            .await?;
        let is_stale = |row: &&CachedVector| row.used_on < today;
        let stale: Vec<i64> = rows.iter().flatten().filter(is_stale).map(|row| row.id).collect();
        if !stale.is_empty() {
            let note = move |sql: &Sql<'_>| stale.iter().try_for_each(|&id| note_use(sql, id, today));
            self.write(note).await?;
        }
        Ok(rows.into_iter().map(|row| row?.vector).collect())
    }

    async fn put(&self, model: &str, vectors: Vec<(TextKey, Vec<f32>)>) -> CoreResult<()> {
        let today = self.day();
        for some in vectors.chunks(STEP) {
            let (model, some) = (model.to_owned(), some.to_vec());
            self.write(move |sql| some.iter().try_for_each(|row| keep(sql, today, &model, row))).await?;
        }
        Ok(())
    }
}

/// A row of the table.
struct CachedVector {
    id: i64,
    used_on: i64,
    /// `None` if the bytes are no vector (the file was edited by hand); it is then requested again.
    vector: Option<Vec<f32>>,
}

fn find(sql: &Sql<'_>, model: &str, key: &TextKey) -> Result<Option<CachedVector>, Error> {
    const FIND: &str = "SELECT id, used_on, vector FROM vectors WHERE model = $1 AND key = $2";
    let kept = |row: &Row<'_>| {
        Ok(CachedVector { id: row.get(0)?, used_on: row.get(1)?, vector: numbers(row.bytes(2)?) })
    };
    sql.first(FIND, params![model, key.as_slice()], kept)
}

fn keep(sql: &Sql<'_>, today: i64, model: &str, (key, vector): &(TextKey, Vec<f32>)) -> Result<(), Error> {
    const KEEP: &str = "INSERT INTO vectors (model, key, used_on, vector) VALUES ($1, $2, $3, $4)
        ON CONFLICT (model, key) DO UPDATE SET used_on = $3, vector = $4";
    sql.execute(KEEP, params![model, key.as_slice(), today, bytes(vector)])?;
    Ok(())
}

fn note_use(sql: &Sql<'_>, id: i64, today: i64) -> Result<(), Error> {
    const NOTE: &str = "UPDATE vectors SET used_on = $2 WHERE id = $1";
    sql.execute(NOTE, [id, today])?;
    Ok(())
}

/// Returns the day and id of the most recently used vector that must go for `most` to remain; `None` if there are no
/// more than that.
pub(crate) fn surplus(sql: &Sql<'_>, most: i64) -> Result<Option<(i64, i64)>, Error> {
    const SURPLUS: &str = "SELECT used_on, id FROM vectors ORDER BY used_on DESC, id DESC LIMIT 1 OFFSET $1";
    sql.first(SURPLUS, [most], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Removes up to `limit` vectors last used at or before this position. Returns how many.
pub(crate) fn forget_through(sql: &Sql<'_>, (day, id): (i64, i64), limit: i64) -> Result<usize, Error> {
    const FORGET: &str =
        "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE (used_on, id) <= ($1, $2)
        ORDER BY used_on, id LIMIT $3)";
    sql.execute(FORGET, [day, id, limit])
}
