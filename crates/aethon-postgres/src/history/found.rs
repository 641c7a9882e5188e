//! Messages that contain all words, for a person who looks for one.
//!
//! Newest first, because a person remembers roughly when something was said, and because the order then never changes between two
//! pages.

use aethon_core::finding::{Words, searchable, snippet_around};
use aethon_core::history::{MAX_SNIPPET, MessageHit, MessageHits, MessageQuery};
use aethon_core::ids::{MessageId, SessionId, TurnId};

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::messages::role_of;
use crate::search::all_of;
use crate::sessions;
use crate::time::from_millis;

const FOUND: &str = "SELECT sessions.id, sessions.title, messages.id, messages.turn, messages.role,
        messages.created_at, messages.content FROM message_words
    JOIN messages ON messages.id = message_words.message_id
    JOIN sessions ON sessions.session_key = messages.session_key
    WHERE message_words.words @@ $1::text::tsquery AND messages.id < $2 AND messages.superseded_by IS NULL
        AND ($3::bigint IS NULL OR messages.session_key = $3)
    ORDER BY messages.id DESC LIMIT $4";

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
    let wanted = i64::try_from(query.limit.saturating_add(1)).unwrap_or(i64::MAX);
    let found = sql.all(FOUND, params![all_of(words.runs()), before, session, wanted], |row| {
        hit(row, &searchable(row.text(6)?), &words)
    })?;
    let mut hits: Vec<MessageHit> = found.into_iter().flatten().collect();
    let has_more = hits.len() > query.limit;
    hits.truncate(query.limit);
    Ok(MessageHits { hits, has_more })
}

/// Reads a row; `None` if the id of its session is damaged.
fn hit(row: &Row<'_>, text: &str, words: &Words) -> Result<Option<MessageHit>, Error> {
    let Ok(session_id) = SessionId::parse(row.text(0)?) else { return Ok(None) };
    Ok(Some(MessageHit {
        session_id,
        title: row.text(1)?.to_owned(),
        message_id: MessageId(row.get(2)?),
        turn: row.text_or_null(3)?.map(TurnId::existing),
        role: role_of(row.text(4)?),
        created_at: from_millis(row.get(5)?),
        snippet: snippet_around(text, words.runs(), MAX_SNIPPET),
    }))
}
