//! Pages of memories, those that were changed last first, and how much there is.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use aethon_core::error::Error as Refusal;
use aethon_core::memory::{MemoryEntry, MemoryListing, MemoryPage, MemoryStats, Reach};
use rusqlite::params;

use super::entries::{read, scopes};
use super::words::words;
use crate::db::Sql;
use crate::error::Error;
use crate::time::to_millis;

/// The longest page.
const MOST: usize = 1000;

/// How many words of a search count.
const MOST_WORDS: usize = 12;

/// How many categories are counted.
const MOST_CATEGORIES: usize = 100;

/// A page. Of several scopes it has the newest of all of them; a cursor says the same in each.
pub(super) fn page(sql: &Sql<'_>, listing: &MemoryListing) -> Result<MemoryPage, Error> {
    let limit = listing.limit.clamp(1, MOST);
    let before = listing.cursor.as_deref().map_or(Ok((i64::MAX, i64::MAX)), parse)?;
    let (mut entries, mut count): (Vec<MemoryEntry>, u64) = (Vec::new(), 0);
    for scope in scopes(sql, &listing.reach)? {
        let (some, number) = of_scope(sql, &scope, listing, before, limit)?;
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

/// The newest of a scope before a place, one more than fit on the page, and how many there are of them in all.
fn of_scope(
    sql: &Sql<'_>,
    scope: &str,
    listing: &MemoryListing,
    (time, id): (i64, i64),
    limit: usize,
) -> Result<(Vec<MemoryEntry>, i64), Error> {
    const PAGE: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE scope = ?1 AND (updated_at, id) < (?2, ?3) AND (?4 IS NULL OR category = ?4)
        ORDER BY updated_at DESC, id DESC LIMIT ?5";
    const COUNT: &str = "SELECT count(*) FROM memories WHERE scope = ?1 AND (?2 IS NULL OR category = ?2)";
    const FOUND_PAGE: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE scope = ?1 AND (updated_at, id) < (?2, ?3) AND (?4 IS NULL OR category = ?4)
        AND id IN (SELECT rowid FROM memory_words WHERE memory_words MATCH ?6)
        ORDER BY updated_at DESC, id DESC LIMIT ?5";
    const FOUND_COUNT: &str = "SELECT count(*) FROM memories
        WHERE scope = ?1 AND (?2 IS NULL OR category = ?2)
        AND id IN (SELECT rowid FROM memory_words WHERE memory_words MATCH ?3)";
    let category = listing.category.as_deref();
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    Ok(match expression(&listing.words) {
        None if listing.words.trim().is_empty() => (
            sql.all(PAGE, params![scope, time, id, category, wanted], read)?,
            sql.one(COUNT, params![scope, category], |row| row.get(0))?,
        ),
        // Signs only: no memory is found by them.
        None => (Vec::new(), 0),
        Some(words) => (
            sql.all(FOUND_PAGE, params![scope, time, id, category, wanted, words], read)?,
            sql.one(FOUND_COUNT, params![scope, category, words], |row| row.get(0))?,
        ),
    })
}

/// How much there is.
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
    all.categories.truncate(MOST_CATEGORIES);
    Ok(all)
}

fn stats_of(sql: &Sql<'_>, scope: &str) -> Result<MemoryStats, Error> {
    const SUMS: &str = "SELECT count(*), count(recalled_at) FROM memories WHERE scope = ?1";
    const CATEGORIES: &str = "SELECT category, count(*) FROM memories WHERE scope = ?1
        GROUP BY category ORDER BY count(*) DESC, category LIMIT 100";
    const VECTORS: &str = "SELECT count(*) FROM memory_vectors
        JOIN memories ON memories.id = memory_vectors.memory_id WHERE memories.scope = ?1";
    const VERSIONS: &str = "SELECT count(*) FROM memory_versions
        JOIN memories ON memories.id = memory_versions.memory_id WHERE memories.scope = ?1";
    let number = |sql_text: &'static str| sql.one(sql_text, [scope], |row| row.get::<_, i64>(0));
    let (entries, recalled): (i64, i64) = sql.one(SUMS, [scope], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let categories = sql.all(CATEGORIES, [scope], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })?;
    Ok(MemoryStats {
        entries: entries.unsigned_abs(),
        categories,
        with_vector: number(VECTORS)?.unsigned_abs(),
        recalled: recalled.unsigned_abs(),
        versions: number(VERSIONS)?.unsigned_abs(),
    })
}

/// All words have to be there, whole or as a beginning, or in another form. What is typed never reaches the query language
/// of the index: it is made of letters and digits, and quoted.
fn expression(typed: &str) -> Option<String> {
    let words = words(typed);
    let each = words.iter().take(MOST_WORDS).map(|word| {
        let (plain, stem) = (&word.plain, &word.stem);
        format!("((words : \"{plain}\" *) OR (stems : \"{stem}\"))")
    });
    let all: Vec<String> = each.collect();
    (!all.is_empty()).then(|| all.join(" AND "))
}

fn parse(cursor: &str) -> Result<(i64, i64), Error> {
    let number = |digits: &str| i64::from_str_radix(digits, 16).ok();
    let place = cursor.split_once('-').and_then(|(time, id)| Some((number(time)?, number(id)?)));
    place.ok_or_else(|| {
        Refusal::invalid("the cursor is not valid: use the `next_cursor` of the page before, unchanged")
            .into()
    })
}
