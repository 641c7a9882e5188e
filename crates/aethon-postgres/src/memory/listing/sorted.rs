//! Memories in other orders than the usual one.
//!
//! Each page reads all memories of a scope: 100,000 take about a tenth of a second.

use aethon_core::memory::{MemoryEntry, MemoryListing};
use aethon_core::order::{MemoryField, Order, SortValue};

use super::super::entries::read;
use crate::db::{Sql, Value, params};
use crate::error::Error;
use crate::sort_value::bound;

/// The field that decides, as a number or as a text.
macro_rules! value {
    (number) => {
        "CASE $7::text WHEN 'created_at' THEN created_at ELSE updated_at END"
    };
    (text) => {
        "lower(substr(CASE $7::text WHEN 'category' THEN category WHEN 'source' THEN source ELSE content END, 1, 100))"
    };
}

/// A page.
macro_rules! page {
    ($value:ident, $kind:literal, $beyond:literal, $direction:literal) => {
        concat!(
            "WITH page AS (SELECT place, value FROM (SELECT id AS place, ",
            value!($value),
            " AS value FROM memories WHERE scope = $1 AND ($4::text IS NULL OR category = $4)
            AND ($6::text IS NULL OR id IN (SELECT memory_id FROM memory_words WHERE NOT EXISTS (SELECT 1
                FROM jsonb_to_recordset($6::jsonb) AS asked (word TEXT, stem TEXT)
                WHERE NOT (words @@ asked.word::tsquery OR stems @@ asked.stem::tsquery))))) AS sorted
            WHERE $2::",
            $kind,
            " IS NULL OR (value, place) ",
            $beyond,
            " ($2, $3) ORDER BY value ",
            $direction,
            ", place ",
            $direction,
            " LIMIT $5)
            SELECT id, content, category, source, created_at, updated_at, recalled_at, scope
            FROM page JOIN memories ON id = page.place ORDER BY page.value ",
            $direction,
            ", page.place ",
            $direction
        )
    };
}

const NUMBERS_UP: &str = page!(number, "bigint", ">", "ASC");
const NUMBERS_DOWN: &str = page!(number, "bigint", "<", "DESC");
const TEXTS_UP: &str = page!(text, "text", ">", "ASC");
const TEXTS_DOWN: &str = page!(text, "text", "<", "DESC");

/// A place that pages of all scopes share.
pub(super) type From<'f> = Option<&'f (SortValue, i64)>;

/// Returns whether the values of a field are texts.
pub(super) fn is_text(field: MemoryField) -> bool {
    !matches!(field, MemoryField::Updated | MemoryField::Created)
}

/// Returns the entries of a scope after a place, one more than fit on the page.
pub(super) fn of_scope(
    sql: &Sql<'_>,
    scope: &str,
    listing: &MemoryListing,
    words: Option<&str>,
    (order, from, limit): (Order<MemoryField>, From<'_>, usize),
) -> Result<Vec<MemoryEntry>, Error> {
    let (value, key) = from.map_or((Value::Null, 0), |(value, key)| (bound(value.clone()), *key));
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let page = match (is_text(order.by), order.is_descending) {
        (false, false) => NUMBERS_UP,
        (false, true) => NUMBERS_DOWN,
        (true, false) => TEXTS_UP,
        (true, true) => TEXTS_DOWN,
    };
    let category = listing.category.as_deref();
    sql.all(page, params![scope, value, key, category, wanted, words, order.by.as_str()], read)
}
