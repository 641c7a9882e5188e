//! Rows of lists of sessions: how they are read and counted, and the place in the usual order where a page ended.

use aethon_core::finding::Words;
use aethon_core::ids::SessionId;
use aethon_core::session::{SessionSettings, SessionSummary};
use rusqlite::Row;

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::search;
use crate::sessions;
use crate::time::from_millis;

pub(super) const COUNT: &str = "SELECT count(*) FROM sessions WHERE ?1 IS NULL OR channel = ?1";
pub(super) const FOUND_COUNT: &str = "SELECT count(*) FROM sessions WHERE (?1 IS NULL OR channel = ?1)
    AND (session_key IN (SELECT value FROM json_each(?2)) OR NOT EXISTS
        (SELECT 1 FROM json_each(?3) AS word WHERE instr(lower(sessions.title || ' ' || sessions.id), word.value) = 0))";

/// Returns the sessions with these words in their messages, and the words to look for in names, as lists for statements.
pub(super) fn found(sql: &Sql<'_>, words: &Words) -> Result<(String, String), Error> {
    let sessions = serde_json::json!(search::sessions(sql, words)?).to_string();
    Ok((sessions, words.for_names().to_string()))
}

/// A position in the list.
pub(crate) struct Cursor {
    pub(super) updated_at: i64,
    pub(super) key: i64,
}

impl Cursor {
    pub(super) const START: Self = Self { updated_at: i64::MAX, key: i64::MAX };

    pub(super) fn to_text(&self) -> String {
        format!("{:x}-{:x}", self.updated_at, self.key)
    }

    pub(super) fn parse(text: &str) -> Result<Self, Error> {
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
