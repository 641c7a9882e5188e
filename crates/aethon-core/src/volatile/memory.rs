//! In-memory long-term memory: a memory with more of the words comes first, and vectors are compared one by one.

use std::cmp::Reverse;

use async_trait::async_trait;
use jiff::Timestamp;

use super::rows::MemoryRow;
use super::store::MemoryStore;
use super::tables::Tables;
use crate::error::{Error, Result};
use crate::memory::{
    Correction, Memory, MemoryEntry, MemoryHit, MemoryId, MemoryListing, MemoryPage, MemoryQuery,
    MemoryRecord, MemoryStats, MemoryStorage, MemoryVector, MemoryVersion, NewMemory, Purpose, Reach, Scope,
    Stored, fingerprint,
};
use crate::order::{MemoryField, Order, Place};
use crate::version::Expected;

#[async_trait]
impl Memory for MemoryStore {
    async fn store(&self, memory: NewMemory) -> Result<Stored> {
        let now = self.clock.now();
        let mut tables = self.enter("store")?;
        let twin = tables.memories.iter().find(|row| is_twin(row, &memory.scope, &memory.content));
        if let Some(twin) = twin {
            return Ok(Stored { entry: twin.entry.clone(), is_new: false });
        }
        tables.last_memory += 1;
        let entry = MemoryEntry {
            id: MemoryId(tables.last_memory),
            scope: memory.scope,
            content: memory.content,
            category: memory.category,
            source: memory.source,
            created_at: now,
            updated_at: now,
            last_recalled_at: None,
        };
        let row = MemoryRow { entry: entry.clone(), history: Vec::new(), vector: None };
        tables.memories.push(row);
        Ok(Stored { entry, is_new: true })
    }

    async fn correct(&self, reach: &Reach, id: MemoryId, correction: Correction) -> Result<MemoryEntry> {
        let now = self.clock.now();
        let mut tables = self.enter("correct")?;
        correction.expected.check(|| Some(row(&mut tables, reach, id)?.entry.version()))?;
        let content = correction.content.as_deref();
        let scope = row(&mut tables, reach, id).ok_or_else(no_memory)?.entry.scope.clone();
        let has_twin = |row: &MemoryRow| {
            row.entry.id != id && content.is_some_and(|content| is_twin(row, &scope, content))
        };
        if tables.memories.iter().any(has_twin) {
            return Err(Error::invalid("another memory says the same; remove one of the two"));
        }
        let row = row(&mut tables, reach, id).ok_or_else(no_memory)?;
        row.correct(correction, now);
        Ok(row.entry.clone())
    }

    async fn forget(&self, reach: &Reach, id: MemoryId, expected: Expected) -> Result<bool> {
        let mut tables = self.enter("forget")?;
        expected.check(|| Some(row(&mut tables, reach, id)?.entry.version()))?;
        let before = tables.memories.len();
        tables.memories.retain(|row| !reach.has(&row.entry.scope) || row.entry.id != id);
        Ok(tables.memories.len() < before)
    }

    async fn show(&self, reach: &Reach, id: MemoryId) -> Result<Option<MemoryRecord>> {
        let mut tables = self.enter("show")?;
        let row = row(&mut tables, reach, id);
        Ok(row.map(|row| MemoryRecord { entry: row.entry.clone(), history: row.history.clone() }))
    }

    async fn list(&self, listing: MemoryListing) -> Result<MemoryPage> {
        let tables = self.enter("list")?;
        let words = words(&listing.words);
        let found: Vec<&MemoryEntry> = tables
            .memories
            .iter()
            .filter(|row| listing.reach.has(&row.entry.scope))
            .map(|row| &row.entry)
            .filter(|entry| listing.category.as_ref().is_none_or(|category| entry.category == *category))
            .filter(|entry| words.iter().all(|word| entry.content.to_lowercase().contains(word)))
            .collect();
        let order = listing.order.unwrap_or(Order::descending(MemoryField::Updated));
        let place = |entry: &&MemoryEntry| Place { value: Some(entry.sort_value(order.by)), key: entry.id.0 };
        let page = order.page(found, place, listing.cursor.as_deref(), listing.limit)?;
        let entries = page.rows.into_iter().cloned().collect();
        Ok(MemoryPage { entries, count: page.count as u64, next_cursor: page.next_cursor })
    }

    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>> {
        let now = self.clock.now();
        let mut tables = self.enter("search")?;
        let words = words(&query.text);
        let mut hits: Vec<MemoryHit> = tables
            .memories
            .iter()
            .filter(|row| query.reach.has(&row.entry.scope))
            .filter(|row| query.category.as_ref().is_none_or(|category| row.entry.category == *category))
            .filter_map(|row| row.hit(&query, &words))
            .collect();
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        hits.truncate(query.limit);
        if query.purpose != Purpose::Look {
            for row in &mut tables.memories {
                if hits.iter().any(|hit| hit.entry.id == row.entry.id) {
                    row.entry.last_recalled_at = Some(now);
                }
            }
        }
        Ok(hits)
    }

    async fn stats(&self, reach: &Reach) -> Result<MemoryStats> {
        let tables = self.enter("stats")?;
        let mut stats = MemoryStats::default();
        for row in tables.memories.iter().filter(|row| reach.has(&row.entry.scope)) {
            stats.entries += 1;
            stats.with_vector += u64::from(row.vector.is_some());
            stats.recalled += u64::from(row.entry.last_recalled_at.is_some());
            stats.versions += row.history.len() as u64;
            match stats.categories.iter_mut().find(|(category, _)| *category == row.entry.category) {
                Some((_, count)) => *count += 1,
                None => stats.categories.push((row.entry.category.clone(), 1)),
            }
        }
        stats.categories.sort_by_key(|(_, count)| Reverse(*count));
        Ok(stats)
    }
}

#[async_trait]
impl MemoryStorage for MemoryStore {
    async fn without_vector(&self, model: &str, limit: usize) -> Result<Vec<(MemoryId, String)>> {
        let tables = self.enter("without_vector")?;
        let has_none = |row: &&MemoryRow| row.vector.as_ref().is_none_or(|(of, _)| of != model);
        let rows = tables.memories.iter().filter(has_none).take(limit);
        Ok(rows.map(|row| (row.entry.id, row.entry.content.clone())).collect())
    }

    async fn put_vectors(&self, model: &str, vectors: Vec<MemoryVector>) -> Result<()> {
        let mut tables = self.enter("put_vectors")?;
        for vector in vectors {
            let is_meant =
                |row: &&mut MemoryRow| row.entry.id == vector.id && row.entry.content == vector.content;
            if let Some(row) = tables.memories.iter_mut().find(is_meant) {
                row.vector = Some((model.to_owned(), vector.numbers));
            }
        }
        Ok(())
    }
}

impl MemoryRow {
    fn correct(&mut self, correction: Correction, now: Timestamp) {
        let entry = &mut self.entry;
        let content = correction.content.unwrap_or_else(|| entry.content.clone());
        let category = correction.category.unwrap_or_else(|| entry.category.clone());
        if content == entry.content && category == entry.category {
            return;
        }
        let version = MemoryVersion {
            content: std::mem::replace(&mut entry.content, content),
            category: std::mem::replace(&mut entry.category, category),
            source: entry.source.clone(),
            replaced_at: now,
        };
        if version.content != entry.content {
            self.vector = None;
        }
        if !correction.source.is_empty() {
            entry.source = correction.source;
        }
        entry.updated_at = now;
        self.history.insert(0, version);
    }

    fn hit(&self, query: &MemoryQuery, words: &[String]) -> Option<MemoryHit> {
        let text = self.entry.content.to_lowercase();
        let matching: Vec<&str> =
            words.iter().filter(|word| text.contains(*word)).map(String::as_str).collect();
        let near = match (&query.vector, &self.vector) {
            (Some(wanted), Some((model, numbers))) if wanted.model == *model => {
                numbers.iter().zip(&wanted.numbers).map(|(a, b)| f64::from(a * b)).sum()
            }
            _ => 0.0,
        };
        let score = matching.len() as f64 / words.len().max(1) as f64 / 2.0 + near.clamp(0.0, 1.0) / 2.0;
        let why = if matching.is_empty() {
            "meaning".to_owned()
        } else {
            format!("words: {}", matching.join(", "))
        };
        (score > 0.0).then(|| MemoryHit { entry: self.entry.clone(), score, why })
    }
}

fn row<'t>(tables: &'t mut Tables, reach: &Reach, id: MemoryId) -> Option<&'t mut MemoryRow> {
    tables.memories.iter_mut().find(|row| reach.has(&row.entry.scope) && row.entry.id == id)
}

fn is_twin(row: &MemoryRow, scope: &Scope, content: &str) -> bool {
    row.entry.scope == *scope && fingerprint(&row.entry.content) == fingerprint(content)
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn no_memory() -> Error {
    Error::not_found("there is no such memory")
}
