//! Lists of sessions: pages, most recently used first, and search.
//!
//! A page starts after the last entry of the one before (by time of use and key, not by offset), so that a session that
//! moves up meanwhile makes no other appear twice or get lost.

use aethon_core::finding::Words;
use aethon_core::ids::SessionId;
use aethon_core::session::{SessionPage, SessionQuery, SessionSettings, SessionSummary};
use rusqlite::{Row, params};

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::search;
use crate::sessions;
use crate::time::from_millis;

/// Maximum page size.
const MAX_PAGE: usize = 500;

const PAGE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
    message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
    WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
    AND role = 'assistant') FROM sessions WHERE (updated_at, session_key) < (?1, ?2) AND (?3 IS NULL OR channel = ?3)
    ORDER BY updated_at DESC, session_key DESC LIMIT ?4";
const COUNT: &str = "SELECT count(*) FROM sessions WHERE ?1 IS NULL OR channel = ?1";

const FOUND_PAGE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
    message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
    WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
    AND role = 'assistant') FROM sessions WHERE (updated_at, session_key) < (?1, ?2) AND (?3 IS NULL OR channel = ?3)
    AND (session_key IN (SELECT value FROM json_each(?5)) OR NOT EXISTS
        (SELECT 1 FROM json_each(?6) AS word WHERE instr(lower(sessions.title || ' ' || sessions.id), word.value) = 0))
    ORDER BY updated_at DESC, session_key DESC LIMIT ?4";
const FOUND_COUNT: &str = "SELECT count(*) FROM sessions WHERE (?1 IS NULL OR channel = ?1)
    AND (session_key IN (SELECT value FROM json_each(?2)) OR NOT EXISTS
        (SELECT 1 FROM json_each(?3) AS word WHERE instr(lower(sessions.title || ' ' || sessions.id), word.value) = 0))";

/// Returns the summary of one session.
pub(crate) fn summary(sql: &Sql<'_>, id: &str) -> Result<Option<SessionSummary>, Error> {
    const ONE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
        message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
    WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
    AND role = 'assistant') FROM sessions WHERE id = ?1";
    Ok(sql.first(ONE, [id], read)?.and_then(|(_, summary)| summary))
}

/// Returns a page of sessions.
pub(crate) fn page(sql: &Sql<'_>, query: &SessionQuery) -> Result<SessionPage, Error> {
    let limit = query.limit.clamp(1, MAX_PAGE);
    let from = query.cursor.as_deref().map_or(Ok(Cursor::START), Cursor::parse)?;
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let channel = query.channel.as_deref();
    let (mut rows, count): (Vec<_>, i64) = match query.search.as_deref().and_then(Words::of) {
        None => (
            sql.all(PAGE, params![from.updated_at, from.key, channel, wanted], read)?,
            sql.one(COUNT, [channel], |row| row.get(0))?,
        ),
        Some(words) => {
            let found = serde_json::json!(search::sessions(sql, &words)?).to_string();
            let names = words.for_names().to_string();
            (
                sql.all(FOUND_PAGE, params![from.updated_at, from.key, channel, wanted, found, names], read)?,
                sql.one(FOUND_COUNT, params![channel, found, names], |row| row.get(0))?,
            )
        }
    };
    let is_last = rows.len() <= limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| !is_last).map(|(cursor, _)| cursor.to_text());
    let sessions = rows.into_iter().filter_map(|(_, summary)| summary).collect();
    Ok(SessionPage { sessions, count: count.unsigned_abs(), next_cursor })
}

/// A position in the list.
pub(crate) struct Cursor {
    updated_at: i64,
    key: i64,
}

impl Cursor {
    const START: Self = Self { updated_at: i64::MAX, key: i64::MAX };

    fn to_text(&self) -> String {
        format!("{:x}-{:x}", self.updated_at, self.key)
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| i64::from_str_radix(digits, 16).ok();
        text.split_once('-')
            .and_then(|(time, key)| Some(Self { updated_at: number(time)?, key: number(key)? }))
            .ok_or_else(|| {
                let message = "the cursor is not valid: use the `next_cursor` of the page before, unchanged";
                aethon_core::error::Error::invalid(message).into()
            })
    }
}

/// Reads a row; without a summary if its session id is invalid (the file was edited by hand).
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<(Cursor, Option<SessionSummary>)> {
    let cursor = Cursor { key: row.get(0)?, updated_at: row.get(1)? };
    let Ok(session_id) = SessionId::parse(&lenient::text(row, 2)?) else { return Ok((cursor, None)) };
    let summary = SessionSummary {
        session_id,
        channel: lenient::text(row, 3)?.into_owned(),
        sender: lenient::text(row, 4)?.into_owned(),
        title: lenient::text(row, 5)?.into_owned(),
        agent_name: lenient::text(row, 6)?.into_owned(),
        created_at: from_millis(row.get(7)?),
        updated_at: from_millis(cursor.updated_at),
        message_count: row.get::<_, i64>(8)?.unsigned_abs(),
        unread: row.get(15)?,
        settings: SessionSettings {
            turns: sessions::turn_defaults(row, 9)?,
            folder: lenient::text_or_null(row, 12)?.map(Into::into),
            pinned: row.get::<_, i64>(13)? != 0,
            archived: row.get::<_, i64>(14)? != 0,
        },
    };
    Ok((cursor, Some(summary)))
}
