//! Messages that contain all words, for a person who looks for one.
//!
//! Newest first, because a person remembers roughly when something was said, and because the order then never changes between two
//! pages. What the index has not reached yet is newer than everything in it, so it is looked through first.

use aethon_core::finding::{Words, searchable, snippet_around};
use aethon_core::history::{MAX_SNIPPET, MessageHit, MessageHits, MessageQuery};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use rusqlite::{Row, params};

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::messages::role_of;
use crate::search::MARK;
use crate::sessions;
use crate::time::from_millis;

const INDEXED: &str = "SELECT sessions.id, sessions.title, messages.id, messages.turn, messages.role,
        messages.created_at, messages.content FROM message_words
    CROSS JOIN messages ON messages.id = message_words.rowid
    CROSS JOIN sessions ON sessions.session_key = messages.session_key
    WHERE message_words MATCH ?1 AND message_words.rowid < ?2 AND messages.superseded_by IS NULL
        AND (?3 IS NULL OR messages.session_key = ?3)
    ORDER BY message_words.rowid DESC LIMIT ?4";

const BEHIND: &str = "SELECT sessions.id, sessions.title, messages.id, messages.turn, messages.role,
        messages.created_at, messages.content FROM messages
    CROSS JOIN sessions ON sessions.session_key = messages.session_key
    WHERE messages.id > ?1 AND messages.id < ?2 AND messages.superseded_by IS NULL
        AND messages.role IN ('user', 'assistant') AND (?3 IS NULL OR messages.session_key = ?3)
        AND (instr(lower(messages.content), ?4) > 0 OR messages.content GLOB '*[^ -~]*')
    ORDER BY messages.id DESC";

/// Returns the page of messages before `query.before`.
pub(super) fn page(sql: &Sql<'_>, query: &MessageQuery) -> Result<MessageHits, Error> {
    let Some(words) = Words::of(&query.words).filter(|words| !words.runs().is_empty()) else {
        return Ok(MessageHits::default());
    };
    let session = match &query.session {
        None => None,
        Some(id) => match sessions::key(sql, id.as_str())? {
            None => return Ok(MessageHits::default()),
            key => key,
        },
    };
    let before = query.before.map_or(i64::MAX, |before| before.0);
    let wanted = query.limit.saturating_add(1);
    let mark: i64 = sql.one(MARK, [], |row| row.get(0))?;
    let mut found = 0;
    let behind = sql.take(BEHIND, params![mark, before, session, words.plain()], |row| {
        // Nothing ends the reading but a page that is full.
        if found == wanted {
            return Ok(None);
        }
        let text = searchable(&lenient::text(row, 6)?);
        let hit = if words.are_in(&text) { hit(row, &text, &words)? } else { None };
        found += usize::from(hit.is_some());
        Ok(Some(hit))
    })?;
    let mut hits: Vec<MessageHit> = behind.into_iter().flatten().collect();
    let left = i64::try_from(wanted - hits.len()).unwrap_or(i64::MAX);
    if left > 0 {
        let through = before.min(mark.saturating_add(1));
        let indexed = sql.all(INDEXED, params![words.for_index(), through, session, left], |row| {
            hit(row, &searchable(&lenient::text(row, 6)?), &words)
        })?;
        hits.extend(indexed.into_iter().flatten());
    }
    let has_more = hits.len() > query.limit;
    hits.truncate(query.limit);
    Ok(MessageHits { hits, has_more })
}

/// Reads a row; `None` if the id of its session is damaged.
fn hit(row: &Row<'_>, text: &str, words: &Words) -> rusqlite::Result<Option<MessageHit>> {
    let Ok(session_id) = SessionId::parse(&lenient::text(row, 0)?) else { return Ok(None) };
    Ok(Some(MessageHit {
        session_id,
        title: lenient::text(row, 1)?.into_owned(),
        message_id: MessageId(row.get(2)?),
        turn: lenient::text_or_null(row, 3)?.map(|turn| TurnId::existing(&turn)),
        role: role_of(&lenient::text(row, 4)?),
        created_at: from_millis(row.get(5)?),
        snippet: snippet_around(text, words.runs(), MAX_SNIPPET),
    }))
}
