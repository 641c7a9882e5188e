//! Long-term memory. `entries` holds the rows, `listing` pages through them, `by_words` and `by_meaning` (over `sketches`) search, and `fusion` merges their
//! results.

use aethon_core::error::{Error as Refusal, Result as CoreResult};
use aethon_core::finding::vector_bytes;
use aethon_core::memory::{
    Correction, Memory, MemoryEntry, MemoryHit, MemoryId, MemoryListing, MemoryPage, MemoryQuery,
    MemoryRecord, MemoryStats, MemoryStorage, MemoryVector, NewMemory, Purpose, Reach, Stored,
};
use aethon_core::version::Expected;
use async_trait::async_trait;

use crate::db::{Sql, params};
use crate::error::Error;
use crate::store::Store;

mod by_meaning;
mod by_words;
mod entries;
mod fusion;
mod listing;
mod sketches;

pub(crate) use entries::index_all;
pub(crate) use sketches::Sketches;

/// Vectors written per transaction.
const STEP: usize = 64;

/// Maximum number of hits.
const MAX_HITS: usize = 100;

#[async_trait]
impl Memory for Store {
    async fn store(&self, memory: NewMemory) -> CoreResult<Stored> {
        let now = self.now();
        Ok(self.write(move |sql| entries::store(sql, &memory, now)).await?)
    }

    async fn correct(&self, reach: &Reach, id: MemoryId, correction: Correction) -> CoreResult<MemoryEntry> {
        let (now, reach) = (self.now(), reach.clone());
        let correct = move |sql: &Sql<'_>| {
            let Some(scope) = entries::scope_of(sql, &reach, id)? else {
                correction.expected.check(|| None)?;
                return Err(Refusal::not_found(format!("there is no memory {id}")).into());
            };
            entries::correct(sql, (&scope, id), &correction, now)
        };
        Ok(self.write(correct).await?)
    }

    async fn forget(&self, reach: &Reach, id: MemoryId, expected: Expected) -> CoreResult<bool> {
        let reach = reach.clone();
        let forget = move |sql: &Sql<'_>| match entries::scope_of(sql, &reach, id)? {
            Some(scope) => entries::forget(sql, (&scope, id), &expected),
            None => Ok(expected.check(|| None).map(|()| false)?),
        };
        Ok(self.write(forget).await?)
    }

    async fn show(&self, reach: &Reach, id: MemoryId) -> CoreResult<Option<MemoryRecord>> {
        let reach = reach.clone();
        let show = move |sql: &Sql<'_>| match entries::scope_of(sql, &reach, id)? {
            Some(scope) => entries::show(sql, &scope, id),
            None => Ok(None),
        };
        Ok(self.read(show).await?)
    }

    async fn list(&self, listing: MemoryListing) -> CoreResult<MemoryPage> {
        Ok(self.read(move |sql| listing::page(sql, &listing)).await?)
    }

    async fn search(&self, query: MemoryQuery) -> CoreResult<Vec<MemoryHit>> {
        let (now, purpose, sketches) = (self.now(), query.purpose, self.sketches());
        let hits = self.read(move |sql| search(sql, &sketches, &query)).await?;
        let ids: Vec<i64> = hits.iter().map(|hit| hit.entry.id.0).collect();
        if purpose != Purpose::Look && !ids.is_empty() {
            let note = move |sql: &Sql<'_>| entries::note_recall(sql, &ids, now);
            self.write(note).await?;
        }
        Ok(hits)
    }

    async fn stats(&self, reach: &Reach) -> CoreResult<MemoryStats> {
        let reach = reach.clone();
        Ok(self.read(move |sql| listing::stats(sql, &reach)).await?)
    }
}

#[async_trait]
impl MemoryStorage for Store {
    async fn without_vector(&self, model: &str, limit: usize) -> CoreResult<Vec<(MemoryId, String)>> {
        const MISSING: &str = "SELECT id, content FROM memories WHERE NOT EXISTS
            (SELECT 1 FROM memory_vectors WHERE memory_id = memories.id AND model = $1) ORDER BY id LIMIT $2";
        let (model, limit) = (model.to_owned(), i64::try_from(limit).unwrap_or(i64::MAX));
        let missing = move |sql: &Sql<'_>| {
            sql.all(MISSING, params![model, limit], |row| Ok((MemoryId(row.get(0)?), row.get(1)?)))
        };
        Ok(self.read(missing).await?)
    }

    async fn put_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> CoreResult<()> {
        for some in vectors.chunks(STEP) {
            let (model, some) = (model.to_owned(), some.to_vec());
            self.write(move |sql| some.iter().try_for_each(|vector| put_vector(sql, &model, vector))).await?;
        }
        Ok(())
    }
}

fn search(sql: &Sql<'_>, sketches: &Sketches, query: &MemoryQuery) -> Result<Vec<MemoryHit>, Error> {
    let (category, limit) = (query.category.as_deref(), query.limit.min(MAX_HITS));
    let mut hits = Vec::new();
    // Word rarity and nearness are relative to a scope; both yield a score from 0 to 1.
    for scope in entries::scopes(sql, &query.reach)? {
        let by_words = by_words::find(sql, &scope, category, &query.text)?;
        let near = |vector| by_meaning::find(sql, sketches, &scope, category, vector);
        let by_meaning = query.vector.as_ref().map(near).transpose()?;
        hits.extend(fusion::fuse(by_words, by_meaning, query.purpose, limit));
    }
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits.truncate(limit);
    Ok(hits)
}

/// Replaces rather than updates an existing row: its new number tells [`sketches`] that the vector is new.
fn put_vector(sql: &Sql<'_>, model: &str, vector: &MemoryVector) -> Result<(), Error> {
    const PUT: &str = "INSERT INTO memory_vectors (memory_id, model, vector)
        SELECT id, $2, $3 FROM memories WHERE id = $1 AND content = $4
        ON CONFLICT (memory_id) DO UPDATE SET id = nextval(pg_get_serial_sequence('memory_vectors', 'id')),
        model = $2, vector = $3";
    sql.execute(PUT, params![vector.id.0, model, vector_bytes(&vector.numbers), vector.content])?;
    Ok(())
}
