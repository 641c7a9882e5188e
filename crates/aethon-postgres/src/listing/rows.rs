//! Rows of lists of sessions: how they are read and counted, and the place in the usual order where a page ended.

use aethon_core::finding::Words;
use aethon_core::ids::SessionId;
use aethon_core::session::{SessionSettings, SessionSummary};

use crate::db::{Row, Sql};
use crate::error::Error;
use crate::search;
use crate::sessions;
use crate::time::from_millis;

pub(super) const COUNT: &str = "SELECT count(*) FROM sessions WHERE $1::text IS NULL OR channel = $1";
pub(super) const FOUND_COUNT: &str = "SELECT count(*) FROM sessions WHERE ($1::text IS NULL OR channel = $1)
    AND (session_key = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb)::bigint)) OR NOT EXISTS
        (SELECT 1 FROM jsonb_array_elements_text($3::jsonb) AS word
            WHERE strpos(lower(sessions.title || ' ' || sessions.id), word) = 0))";

/// Returns the sessions with these words in their messages, and the words to look for in names, as lists for statements.
pub(super) fn found(sql: &Sql<'_>, words: &Words) -> Result<(String, String), Error> {
    let sessions = serde_json::json!(search::sessions(sql, words)?).to_string();
    let names = words.for_names();
    let names = names.as_array().into_iter().flatten().filter_map(|name| name.as_str());
    // The server has no zero bytes.
    let names = serde_json::json!(names.map(|name| name.replace('\0', "")).collect::<Vec<_>>());
    Ok((sessions, names.to_string()))
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
pub(crate) fn read(row: &Row<'_>) -> Result<(Cursor, Option<SessionSummary>), Error> {
    let cursor = Cursor { key: row.get(0)?, updated_at: row.get(1)? };
    let Ok(session_id) = SessionId::parse(row.text(2)?) else { return Ok((cursor, None)) };
    let summary = SessionSummary {
        session_id,
        channel: row.text(3)?.to_owned(),
        sender: row.text(4)?.to_owned(),
        title: row.text(5)?.to_owned(),
        agent_name: row.text(6)?.to_owned(),
        created_at: from_millis(row.get(7)?),
        updated_at: from_millis(cursor.updated_at),
        message_count: row.get::<i64>(8)?.unsigned_abs(),
        unread: row.get(15)?,
        settings: SessionSettings {
            turns: sessions::turn_defaults(row, 9)?,
            folder: row.text_or_null(12)?.map(Into::into),
            pinned: row.get(13)?,
            archived: row.get(14)?,
        },
    };
    Ok((cursor, Some(summary)))
}
