//! Pages of memories, most recently changed first, and statistics.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use aethon_core::error::Error as Refusal;
use aethon_core::finding::memory_words as words;
use aethon_core::memory::{MemoryEntry, MemoryListing, MemoryPage, MemoryStats, Reach};
use aethon_core::order::{MemoryField, Order, Place};

use super::entries::{read, scopes};
use crate::db::{Sql, params};
use crate::error::Error;
use crate::search::lexeme;
use crate::time::to_millis;

mod sorted;

/// Maximum page size.
const MAX_COUNT: usize = 1000;

/// Maximum number of words taken from a search.
const MAX_WORDS: usize = 12;

/// Maximum number of categories counted.
const MAX_CATEGORIES: usize = 100;

/// Returns a page. A page over several scopes merges the newest of each; a cursor means the same in every scope.
pub(super) fn page(sql: &Sql<'_>, listing: &MemoryListing) -> Result<MemoryPage, Error> {
    let limit = listing.limit.clamp(1, MAX_COUNT);
    if let Some(order) = listing.order.filter(|order| *order != Order::descending(MemoryField::Updated)) {
        return sorted_page(sql, listing, order, limit);
    }
    let before = listing.cursor.as_deref().map_or(Ok((i64::MAX, i64::MAX)), parse)?;
    let (mut entries, mut count): (Vec<MemoryEntry>, u64) = (Vec::new(), 0);
    for scope in scopes(sql, &listing.reach)? {
        let (some, number) = of_scope(sql, &scope, listing, before.0, before.1, limit)?;
        entries.extend(some);
        count += number.unsigned_abs();
    }
    entries.sort_by_key(|entry| Reverse((entry.updated_at, entry.id)));
    let is_last = entries.len() <= limit;
    entries.truncate(limit);
    let last = entries.last().filter(|_| !is_last);
    let next_cursor = last.map(|entry| format!("{:x}-{:x}", to_millis(entry.updated_at), entry.id.0));
    Ok(MemoryPage { entries, count, next_cursor })
}

/// Returns a page in another order.
fn sorted_page(
    sql: &Sql<'_>,
    listing: &MemoryListing,
    order: Order<MemoryField>,
    limit: usize,
) -> Result<MemoryPage, Error> {
    let is_text = sorted::is_text(order.by);
    let from = listing.cursor.as_deref().map(|cursor| order.place_of(cursor, is_text)).transpose()?;
    let words = expression(&listing.words);
    let (mut entries, mut count): (Vec<MemoryEntry>, u64) = (Vec::new(), 0);
    // Punctuation alone matches no memory.
    if words.is_some() || listing.words.trim().is_empty() {
        for scope in scopes(sql, &listing.reach)? {
            let place = (order, from.as_ref(), limit);
            entries.extend(sorted::of_scope(sql, &scope, listing, words.as_deref(), place)?);
            count += count_of(sql, &scope, listing.category.as_deref(), words.as_deref())?.unsigned_abs();
        }
    }
    let place = |entry: &MemoryEntry| Place { value: Some(entry.sort_value(order.by)), key: entry.id.0 };
    entries.sort_by(|one, other| order.compare(&place(one), &place(other)));
    let is_last = entries.len() <= limit;
    entries.truncate(limit);
    let next_cursor = entries.last().filter(|_| !is_last).map(|entry| order.cursor(&place(entry)));
    Ok(MemoryPage { entries, count, next_cursor })
}

/// Counts the entries of a scope.
fn count_of(sql: &Sql<'_>, scope: &str, category: Option<&str>, words: Option<&str>) -> Result<i64, Error> {
    const COUNT: &str =
        "SELECT count(*) FROM memories WHERE scope = $1 AND ($2::text IS NULL OR category = $2)";
    const FOUND_COUNT: &str = "SELECT count(*) FROM memories
        WHERE scope = $1 AND ($2::text IS NULL OR category = $2)
        AND id IN (SELECT memory_id FROM memory_words WHERE NOT EXISTS (SELECT 1
            FROM jsonb_to_recordset($3::jsonb) AS asked (word TEXT, stem TEXT)
            WHERE NOT (words @@ asked.word::tsquery OR stems @@ asked.stem::tsquery)))";
    match words {
        None => sql.one(COUNT, params![scope, category], |row| row.get(0)),
        Some(words) => sql.one(FOUND_COUNT, params![scope, category, words], |row| row.get(0)),
    }
}

/// Returns the newest entries of a scope before the cursor, one more than fit on the page, and the total count.
fn of_scope(
    sql: &Sql<'_>,
    scope: &str,
    listing: &MemoryListing,
    time: i64,
    id: i64,
    limit: usize,
) -> Result<(Vec<MemoryEntry>, i64), Error> {
    const PAGE: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE scope = $1 AND (updated_at, id) < ($2, $3) AND ($4::text IS NULL OR category = $4)
        ORDER BY updated_at DESC, id DESC LIMIT $5";
    const FOUND_PAGE: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE scope = $1 AND (updated_at, id) < ($2, $3) AND ($4::text IS NULL OR category = $4)
        AND id IN (SELECT memory_id FROM memory_words WHERE NOT EXISTS (SELECT 1
            FROM jsonb_to_recordset($6::jsonb) AS asked (word TEXT, stem TEXT)
            WHERE NOT (words @@ asked.word::tsquery OR stems @@ asked.stem::tsquery)))
        ORDER BY updated_at DESC, id DESC LIMIT $5";
    let category = listing.category.as_deref();
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    Ok(match expression(&listing.words) {
        None if listing.words.trim().is_empty() => (
            sql.all(PAGE, params![scope, time, id, category, wanted], read)?,
            count_of(sql, scope, category, None)?,
        ),
        // Only punctuation, which matches no memory.
        None => (Vec::new(), 0),
        Some(words) => (
            sql.all(FOUND_PAGE, params![scope, time, id, category, wanted, words], read)?,
            count_of(sql, scope, category, Some(&words))?,
        ),
    })
}

/// Returns statistics.
pub(super) fn stats(sql: &Sql<'_>, reach: &Reach) -> Result<MemoryStats, Error> {
    let (mut all, mut categories) = (MemoryStats::default(), BTreeMap::<String, u64>::new());
    for scope in scopes(sql, reach)? {
        let some = stats_of(sql, &scope)?;
        all.entries += some.entries;
        all.with_vector += some.with_vector;
        all.recalled += some.recalled;
        all.versions += some.versions;
        for (category, count) in some.categories {
            *categories.entry(category).or_default() += count;
        }
    }
    all.categories = categories.into_iter().collect();
    all.categories.sort_by_key(|(_, count)| Reverse(*count));
    all.categories.truncate(MAX_CATEGORIES);
    Ok(all)
}

fn stats_of(sql: &Sql<'_>, scope: &str) -> Result<MemoryStats, Error> {
    const SUMS: &str = "SELECT count(*), count(recalled_at) FROM memories WHERE scope = $1";
    const CATEGORIES: &str = "SELECT category, count(*) FROM memories WHERE scope = $1
        GROUP BY category ORDER BY count(*) DESC, category LIMIT 100";
    const VECTORS: &str = "SELECT count(*) FROM memory_vectors
        JOIN memories ON memories.id = memory_vectors.memory_id WHERE memories.scope = $1";
    const VERSIONS: &str = "SELECT count(*) FROM memory_versions
        JOIN memories ON memories.id = memory_versions.memory_id WHERE memories.scope = $1";
    let number = |sql_text: &'static str| sql.one(sql_text, [scope], |row| row.get::<i64>(0));
    let (entries, recalled): (i64, i64) = sql.one(SUMS, [scope], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let categories =
        sql.all(CATEGORIES, [scope], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?.unsigned_abs())))?;
    Ok(MemoryStats {
        entries: entries.unsigned_abs(),
        categories,
        with_vector: number(VECTORS)?.unsigned_abs(),
        recalled: recalled.unsigned_abs(),
        versions: number(VERSIONS)?.unsigned_abs(),
    })
}

/// What every memory must have of each word, as JSON: the word, whole or as a beginning, or its stem.
fn expression(typed: &str) -> Option<String> {
    let words = words(typed);
    let each = words.iter().take(MAX_WORDS).map(|word| {
        serde_json::json!({ "word": format!("{}:*", lexeme(&word.plain)), "stem": lexeme(&word.stem) })
    });
    let all: Vec<serde_json::Value> = each.collect();
    (!all.is_empty()).then(|| serde_json::Value::Array(all).to_string())
}

fn parse(cursor: &str) -> Result<(i64, i64), Error> {
    let number = |digits: &str| i64::from_str_radix(digits, 16).ok();
    let position = cursor.split_once('-').and_then(|(time, id)| Some((number(time)?, number(id)?)));
    position.ok_or_else(|| {
        Refusal::invalid("the cursor is not valid: use the `next_cursor` of the page before, unchanged")
            .into()
    })
}
