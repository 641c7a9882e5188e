//! Sessions in other orders than the usual one.
//!
//! Each page reads all rows, without their messages: that of 100,000 sessions takes less than a tenth of a second, and an
//! index for each order would be written with every turn.

use aethon_core::finding::Words;
use aethon_core::order::{Order, Place, SessionField, SortValue};
use aethon_core::session::{SessionPage, SessionQuery};
use rusqlite::params;
use rusqlite::types::Value;

use super::rows::{COUNT, FOUND_COUNT, found, read};
use crate::db::Sql;
use crate::error::Error;
use crate::sort_value::bound;

/// The field that decides, as a number or as a text.
macro_rules! value {
    (number) => {
        "CASE ?7 WHEN 'created_at' THEN created_at WHEN 'message_count' THEN message_count ELSE updated_at END"
    };
    (text) => {
        "lower(substr(CASE WHEN ?7 = 'channel' THEN channel WHEN title = '' THEN id ELSE title END, 1, 100))"
    };
}

/// A page. Only its rows are read whole.
macro_rules! page {
    ($value:ident, $beyond:literal, $direction:literal) => {
        concat!(
            "WITH page AS (SELECT place, value FROM (SELECT session_key AS place, ",
            value!($value),
            " AS value FROM sessions WHERE (?3 IS NULL OR channel = ?3)
            AND (?5 IS NULL OR session_key IN (SELECT value FROM json_each(?5))
            OR NOT EXISTS (SELECT 1 FROM json_each(?6) AS word
                WHERE instr(lower(sessions.title || ' ' || sessions.id), word.value) = 0))) AS sorted
            WHERE ?1 IS NULL OR (value, place) ",
            $beyond,
            " (?1, ?2) ORDER BY value ",
            $direction,
            ", place ",
            $direction,
            " LIMIT ?4)
            SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
            message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
            WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
            AND role = 'assistant'),
            page.value FROM page JOIN sessions ON session_key = page.place ORDER BY page.value ",
            $direction,
            ", page.place ",
            $direction
        )
    };
}

const NUMBERS_UP: &str = page!(number, ">", "ASC");
const NUMBERS_DOWN: &str = page!(number, "<", "DESC");
const TEXTS_UP: &str = page!(text, ">", "ASC");
const TEXTS_DOWN: &str = page!(text, "<", "DESC");

/// Returns a page in this order.
pub(super) fn page(
    sql: &Sql<'_>,
    query: &SessionQuery,
    order: Order<SessionField>,
    limit: usize,
) -> Result<SessionPage, Error> {
    let is_text = matches!(order.by, SessionField::Title | SessionField::Channel);
    let from = query.cursor.as_deref().map(|cursor| order.place_of(cursor, is_text)).transpose()?;
    let (value, key) = from.map_or((Value::Null, 0), |(value, key)| (bound(value), key));
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let channel = query.channel.as_deref();
    let matching = query.search.as_deref().and_then(Words::of).map(|words| found(sql, &words)).transpose()?;
    let (sessions, names) = matching.as_ref().map(|(sessions, names)| (&**sessions, &**names)).unzip();
    let page = match (is_text, order.is_descending) {
        (false, false) => NUMBERS_UP,
        (false, true) => NUMBERS_DOWN,
        (true, false) => TEXTS_UP,
        (true, true) => TEXTS_DOWN,
    };
    let sorted = params![value, key, channel, wanted, sessions, names, order.by.as_str()];
    let mut rows = sql.all(page, sorted, |row| {
        let (cursor, summary) = read(row)?;
        let value = if is_text {
            SortValue::Text(crate::lenient::text(row, 16)?.into_owned())
        } else {
            SortValue::Number(row.get(16)?)
        };
        Ok((Place { value: Some(value), key: cursor.key }, summary))
    })?;
    let count: i64 = match &matching {
        None => sql.one(COUNT, [channel], |row| row.get(0))?,
        Some((sessions, names)) => {
            sql.one(FOUND_COUNT, params![channel, sessions, names], |row| row.get(0))?
        }
    };
    let is_last = rows.len() <= limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| !is_last).map(|(place, _)| order.cursor(place));
    let sessions = rows.into_iter().filter_map(|(_, summary)| summary).collect();
    Ok(SessionPage { sessions, count: count.unsigned_abs(), next_cursor })
}
