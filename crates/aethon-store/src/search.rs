//! Full-text search: an index that follows the writes, and the queries on it.
//!
//! Indexing costs more than storing, so it happens in idle moments, in the order of message ids, up to a mark that
//! moves in the same transaction. Messages past the mark are scanned, so a search finds everything at any time; after a
//! crash, more has to be scanned until the index has caught up.
//!
//! User input never reaches the query language of the index: it is split into runs of letters and digits, and each is
//! quoted. A query word matches the beginning of a word. Chinese, Japanese and Korean characters count as separate
//! words.

use std::collections::BTreeSet;

use aethon_core::finding::{Words, searchable, spread};
use rusqlite::params;

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;

/// Messages indexed per step: the most that a job may have to wait for.
const STEP: i64 = 32;

/// Up to which message the index has got.
pub(crate) const MARK: &str = "SELECT indexed_through FROM search_mark";

/// Returns the sessions in which one live message contains all words.
pub(crate) fn sessions(sql: &Sql<'_>, words: &Words) -> Result<BTreeSet<i64>, Error> {
    const INDEXED: &str = "SELECT DISTINCT messages.session_key FROM message_words
        CROSS JOIN messages ON messages.id = message_words.rowid
        WHERE message_words MATCH ?1 AND messages.superseded_by IS NULL";
    const BEHIND: &str = "SELECT session_key, content FROM messages
        WHERE id > ?1 AND superseded_by IS NULL AND role IN ('user', 'assistant')
        AND (instr(lower(content), ?2) > 0 OR content GLOB '*[^ -~]*')";
    if words.runs().is_empty() {
        return Ok(BTreeSet::new());
    }
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let mut found: BTreeSet<i64> =
        sql.all(INDEXED, [words.for_index()], |row| row.get(0))?.into_iter().collect();
    let behind = sql.all(BEHIND, params![mark, words.plain()], |row| {
        let session: i64 = row.get(0)?;
        Ok(words.are_in(&searchable(&lenient::text(row, 1)?)).then_some(session))
    })?;
    found.extend(behind.into_iter().flatten());
    Ok(found)
}

/// Indexes some more messages. Returns `true` if there may be more.
pub(crate) fn index_some(sql: &Sql<'_>) -> Result<bool, Error> {
    const NEXT: &str = "SELECT id, role, content FROM messages WHERE id > ?1 ORDER BY id LIMIT ?2";
    const ADD: &str = "INSERT INTO message_words (rowid, text) VALUES (?1, ?2)";
    const MOVE: &str = "UPDATE search_mark SET indexed_through = ?1";
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let next = sql.all(NEXT, [mark, STEP], |row| {
        let text = text_for_index(&lenient::text(row, 1)?, &lenient::text(row, 2)?);
        Ok((row.get::<_, i64>(0)?, text))
    })?;
    let Some((last, _)) = next.last() else { return Ok(false) };
    let last = *last;
    let is_full = i64::try_from(next.len()).is_ok_and(|found| found == STEP);
    for (id, text) in next.iter().filter(|(_, text)| !text.is_empty()) {
        sql.execute(ADD, params![id, text])?;
    }
    sql.execute(MOVE, [last])?;
    Ok(is_full)
}

/// Physically removes some of the deleted words: until its segments are merged, FTS5 only marks them as deleted.
/// Returns `true` if more is left.
pub(crate) fn erase_some(sql: &Sql<'_>) -> Result<bool, Error> {
    const ERASING: &str = "SELECT erasing FROM search_mark";
    const SET: &str = "UPDATE search_mark SET erasing = ?1";
    const BEGIN: &str = "INSERT INTO message_words (message_words, rank) VALUES ('merge', -16)";
    const GO_ON: &str = "INSERT INTO message_words (message_words, rank) VALUES ('merge', 16)";
    match sql.one(ERASING, [], |row| row.get::<_, i64>(0))? {
        0 => Ok(false),
        1 => {
            sql.execute(BEGIN, [])?;
            sql.execute(SET, [2])?;
            Ok(true)
        }
        _ => {
            let before = sql.connection().total_changes();
            sql.execute(GO_ON, [])?;
            // The statement itself counts as one change; more means that something was merged.
            let more = sql.connection().total_changes() - before >= 2;
            if !more {
                sql.execute(SET, [0])?;
            }
            Ok(more)
        }
    }
}

/// Removes a message from the index, which needs the exact text that was added.
pub(crate) fn forget(sql: &Sql<'_>, id: i64, role: &str, content: &str) -> Result<(), Error> {
    const FORGET: &str = "INSERT INTO message_words (message_words, rowid, text) VALUES ('delete', ?1, ?2)";
    const ERASE: &str = "UPDATE search_mark SET erasing = 1 WHERE erasing <> 1";
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let text = if id <= mark { text_for_index(role, content) } else { String::new() };
    if !text.is_empty() {
        sql.execute(FORGET, params![id, text])?;
        sql.execute(ERASE, [])?;
    }
    Ok(())
}

/// Returns the text to index for a message. A change here needs a migration that empties the index and resets the mark.
fn text_for_index(role: &str, content: &str) -> String {
    if matches!(role, "user" | "assistant") {
        spread(&searchable(content)).into_owned()
    } else {
        String::new()
    }
}
