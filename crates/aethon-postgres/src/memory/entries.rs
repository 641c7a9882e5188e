//! The rows of memories, their earlier versions, and their search index.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aethon_core::error::Error as Refusal;
use aethon_core::finding::{Word, is_telling, memory_words as words};
use aethon_core::memory::{
    Correction, MemoryEntry, MemoryId, MemoryRecord, MemoryVersion, NewMemory, Reach, Scope, Stored,
    fingerprint,
};
use aethon_core::version::Expected;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::search::lexeme;
use crate::time::from_millis;

/// Pseudo-stems under which the number of memories and the total number of stems are counted.
pub(super) const ALL_ENTRIES: &str = "";
pub(super) const ALL_STEMS: &str = " ";

/// Maximum number of scopes searched when the reach is unlimited.
const MAX_SCOPES: usize = 200;

/// Stores a memory unless the scope already has one that says the same.
pub(super) fn store(sql: &Sql<'_>, memory: &NewMemory, now: i64) -> Result<Stored, Error> {
    const TWIN: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE scope = $1 AND fingerprint = $2";
    const ADD: &str =
        "INSERT INTO memories (scope, fingerprint, content, category, source, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id";
    let (scope, print) = (memory.scope.as_str(), fingerprint_of(&memory.content)?);
    if let Some(entry) = sql.first(TWIN, params![scope, print], read)? {
        return Ok(Stored { entry, is_new: false });
    }
    let NewMemory { content, category, source, .. } = memory.clone();
    let id = sql.insert(ADD, params![scope, print, content, category, source, now])?;
    index(sql, scope, id, &content)?;
    let (at, id) = (from_millis(now), MemoryId(id));
    let entry = MemoryEntry {
        id,
        scope: memory.scope.clone(),
        content,
        category,
        source,
        created_at: at,
        updated_at: at,
        last_recalled_at: None,
    };
    Ok(Stored { entry, is_new: true })
}

/// Replaces the content of a memory, and keeps the old one as a version.
pub(super) fn correct(
    sql: &Sql<'_>,
    (scope, id): (&str, MemoryId),
    correction: &Correction,
    now: i64,
) -> Result<MemoryEntry, Error> {
    const HAS_TWIN: &str =
        "SELECT EXISTS (SELECT 1 FROM memories WHERE scope = $1 AND fingerprint = $2 AND id <> $3)";
    const KEEP: &str = "INSERT INTO memory_versions (memory_id, content, category, source, replaced_at)
        VALUES ($1, $2, $3, $4, $5)";
    const CHANGE: &str = "UPDATE memories SET fingerprint = $2, content = $3, category = $4, source = $5,
        updated_at = $6 WHERE id = $1";
    const FORGET_VECTOR: &str = "DELETE FROM memory_vectors WHERE memory_id = $1";
    let Some(old) = find(sql, scope, id)? else {
        return Err(Refusal::not_found(format!("there is no memory {id}")).into());
    };
    correction.expected.check(|| Some(old.version()))?;
    let mut new = old.clone();
    new.content = correction.content.clone().unwrap_or(new.content);
    new.category = correction.category.clone().unwrap_or(new.category);
    if new.content == old.content && new.category == old.category {
        return Ok(old);
    }
    if !correction.source.is_empty() {
        new.source.clone_from(&correction.source);
    }
    let print = fingerprint_of(&new.content)?;
    if sql.one(HAS_TWIN, params![scope, print, id.0], |row| row.get(0))? {
        return Err(Refusal::invalid("another memory says the same; remove one of the two").into());
    }
    sql.execute(KEEP, params![id.0, old.content, old.category, old.source, now])?;
    sql.execute(CHANGE, params![id.0, print, new.content, new.category, new.source, now])?;
    if new.content != old.content {
        unindex(sql, scope, id.0, &old.content)?;
        index(sql, scope, id.0, &new.content)?;
        sql.execute(FORGET_VECTOR, [id.0])?;
    }
    new.updated_at = from_millis(now);
    Ok(new)
}

/// Removes a memory and everything that belongs to it, if it is as expected. Returns `false` if there is none.
pub(super) fn forget(
    sql: &Sql<'_>,
    (scope, id): (&str, MemoryId),
    expected: &Expected,
) -> Result<bool, Error> {
    const FORGET: &str = "DELETE FROM memories WHERE id = $1";
    let Some(entry) = find(sql, scope, id)? else { return Ok(false) };
    expected.check(|| Some(entry.version()))?;
    unindex(sql, scope, id.0, &entry.content)?;
    sql.execute(FORGET, [id.0])?;
    Ok(true)
}

/// Returns a memory with its earlier versions.
pub(super) fn show(sql: &Sql<'_>, scope: &str, id: MemoryId) -> Result<Option<MemoryRecord>, Error> {
    const HISTORY: &str = "SELECT content, category, source, replaced_at FROM memory_versions
        WHERE memory_id = $1 ORDER BY id DESC";
    let Some(entry) = find(sql, scope, id)? else { return Ok(None) };
    let history = sql.all(HISTORY, [id.0], |row| {
        Ok(MemoryVersion {
            content: row.get(0)?,
            category: row.get(1)?,
            source: row.get(2)?,
            replaced_at: from_millis(row.get(3)?),
        })
    })?;
    Ok(Some(MemoryRecord { entry, history }))
}

/// Returns a memory.
pub(super) fn find(sql: &Sql<'_>, scope: &str, id: MemoryId) -> Result<Option<MemoryEntry>, Error> {
    const FIND: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE id = $2 AND scope = $1";
    sql.first(FIND, params![scope, id.0], read)
}

/// Returns those of these memories that are there, by their numbers.
pub(super) fn find_many(sql: &Sql<'_>, scope: &str, ids: &[i64]) -> Result<HashMap<i64, MemoryEntry>, Error> {
    const FIND: &str =
        "SELECT id, content, category, source, created_at, updated_at, recalled_at, scope FROM memories
        WHERE scope = $1 AND id IN (SELECT value::bigint FROM json_array_elements_text($2::text::json))";
    let found = sql.all(FIND, params![scope, serde_json::json!(ids).to_string()], read)?;
    Ok(found.into_iter().map(|entry| (entry.id.0, entry)).collect())
}

/// Returns the scope of a memory, if it exists and is within reach.
pub(super) fn scope_of(sql: &Sql<'_>, reach: &Reach, id: MemoryId) -> Result<Option<String>, Error> {
    const SCOPE: &str = "SELECT scope FROM memories WHERE id = $1";
    let scope = sql.first(SCOPE, [id.0], |row| row.get::<String>(0))?;
    Ok(scope.filter(|scope| reach.has(&Scope::named(scope.as_str()))))
}

/// Returns the scopes within reach.
pub(super) fn scopes(sql: &Sql<'_>, reach: &Reach) -> Result<Vec<String>, Error> {
    // Skip-scan through the index, whatever the number of memories.
    const NEXT: &str = "SELECT scope FROM memories WHERE scope > $1 ORDER BY scope LIMIT 1";
    let Reach::Of(scopes) = reach else {
        let mut all: Vec<String> = Vec::new();
        while all.len() < MAX_SCOPES {
            let last = all.last().map(String::as_str).unwrap_or_default();
            let Some(next) = sql.first(NEXT, [last], |row| row.get(0))? else { break };
            all.push(next);
        }
        return Ok(all);
    };
    Ok(scopes.iter().map(|scope| scope.as_str().to_owned()).collect())
}

/// Notes that these memories were shown to a model.
pub(super) fn note_recall(sql: &Sql<'_>, ids: &[i64], now: i64) -> Result<(), Error> {
    const NOTE: &str = "UPDATE memories SET recalled_at = $2 WHERE id = $1";
    ids.iter().try_for_each(|id| sql.execute(NOTE, [*id, now]).map(drop))?;
    Ok(())
}

/// Reads a row of the columns id, content, category, source, created_at, updated_at, recalled_at, scope.
pub(super) fn read(row: &Row<'_>) -> Result<MemoryEntry, Error> {
    Ok(MemoryEntry {
        id: MemoryId(row.get(0)?),
        scope: Scope::named(row.get::<String>(7)?),
        content: row.get(1)?,
        category: row.get(2)?,
        source: row.get(3)?,
        created_at: from_millis(row.get(4)?),
        updated_at: from_millis(row.get(5)?),
        last_recalled_at: row.get::<Option<i64>>(6)?.map(from_millis),
    })
}

/// Returns how many memories of a scope contain each stem, in one round trip; [`ALL_ENTRIES`] and [`ALL_STEMS`] give the totals.
/// Stems that are in no memory are left out.
pub(super) fn frequencies(
    sql: &Sql<'_>,
    scope: &str,
    stems: &BTreeSet<&str>,
) -> Result<HashMap<String, i64>, Error> {
    const FREQUENCIES: &str = "SELECT stem, entries FROM memory_stems
        WHERE scope = $1 AND stem IN (SELECT value FROM json_array_elements_text($2::text::json))";
    // The server has no texts with zero bytes, and so no stems.
    let known: Vec<&&str> = stems.iter().filter(|stem| !stem.contains('\0')).collect();
    let rows = sql.all(FREQUENCIES, params![scope, serde_json::json!(known).to_string()], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    Ok(rows.into_iter().collect())
}

fn fingerprint_of(content: &str) -> Result<[u8; 16], Error> {
    fingerprint(content).ok_or_else(|| Refusal::invalid("content must not be empty").into())
}

/// Adds the words of a memory to the index.
fn index(sql: &Sql<'_>, scope: &str, id: i64, content: &str) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO memory_words (memory_id, stems, words)
        VALUES ($1, $2::text::tsvector, $3::text::tsvector)";
    let words = words(content);
    let stems = telling_stems(&words);
    let plain = words.iter().map(|word| word.plain.as_str());
    sql.execute(ADD, params![id, vector(stems.iter().copied()), vector(plain)])?;
    count(sql, scope, &stems, 1)
}

/// Adds the words of all memories to an empty index, many at a time.
pub(crate) fn index_all(sql: &Sql<'_>) -> Result<(), Error> {
    const SOME: &str = "SELECT scope, id, content FROM memories WHERE id > $1 ORDER BY id LIMIT 500";
    const ADD: &str = "INSERT INTO memory_words (memory_id, stems, words)
        SELECT id, stems::tsvector, words::tsvector
        FROM json_to_recordset($1::text::json) AS added (id BIGINT, stems TEXT, words TEXT)";
    const COUNT: &str = "INSERT INTO memory_stems (scope, stem, entries) SELECT scope, stem, entries
        FROM json_to_recordset($1::text::json) AS added (scope TEXT, stem TEXT, entries BIGINT)";
    let mut counts: BTreeMap<(String, String), i64> = BTreeMap::new();
    let mut last = i64::MIN;
    loop {
        let some: Vec<(String, i64, String)> =
            sql.all(SOME, [last], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some((_, newest, _)) = some.last() else { break };
        last = *newest;
        let mut rows = Vec::with_capacity(some.len());
        for (scope, id, content) in &some {
            let words = words(content);
            let stems = telling_stems(&words);
            let plain = words.iter().map(|word| word.plain.as_str());
            rows.push(serde_json::json!({ "id": id, "stems": vector(stems.iter().copied()), "words": vector(plain) }));
            let each: BTreeSet<&str> = stems.iter().copied().chain([ALL_ENTRIES]).collect();
            for stem in each {
                *counts.entry((scope.clone(), stem.to_owned())).or_default() += 1;
            }
            let length = i64::try_from(stems.len()).unwrap_or(0);
            *counts.entry((scope.clone(), ALL_STEMS.to_owned())).or_default() += length;
        }
        sql.execute(ADD, [serde_json::Value::Array(rows).to_string()])?;
    }
    let counted: Vec<_> = counts.into_iter().collect();
    for some in counted.chunks(2000) {
        let rows = some.iter().map(|((scope, stem), entries)| {
            serde_json::json!({ "scope": scope, "stem": stem, "entries": entries })
        });
        sql.execute(COUNT, [serde_json::Value::Array(rows.collect()).to_string()])?;
    }
    Ok(())
}

/// The words as the server's index takes them.
fn vector<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: BTreeSet<String> = words.map(lexeme).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// Removes the words of a memory from the index.
fn unindex(sql: &Sql<'_>, scope: &str, id: i64, content: &str) -> Result<(), Error> {
    const REMOVE: &str = "DELETE FROM memory_words WHERE memory_id = $1";
    let words = words(content);
    sql.execute(REMOVE, [id])?;
    count(sql, scope, &telling_stems(&words), -1)
}

fn telling_stems(words: &[Word]) -> Vec<&str> {
    words.iter().filter(|word| is_telling(word)).map(|word| word.stem.as_str()).collect()
}

/// Adds `by` to the counts of a memory's stems.
fn count(sql: &Sql<'_>, scope: &str, stems: &[&str], by: i64) -> Result<(), Error> {
    const COUNT: &str = "INSERT INTO memory_stems (scope, stem, entries) VALUES ($1, $2, $3)
        ON CONFLICT (scope, stem) DO UPDATE SET entries = memory_stems.entries + $3";
    const DROP: &str = "DELETE FROM memory_stems WHERE scope = $1 AND stem = $2 AND entries <= 0";
    let each: BTreeSet<&str> = stems.iter().copied().chain([ALL_ENTRIES]).collect();
    for stem in each {
        sql.execute(COUNT, params![scope, stem, by])?;
        if by < 0 {
            sql.execute(DROP, [scope, stem])?;
        }
    }
    let length = i64::try_from(stems.len()).unwrap_or(0) * by;
    sql.execute(COUNT, params![scope, ALL_STEMS, length])?;
    Ok(())
}
