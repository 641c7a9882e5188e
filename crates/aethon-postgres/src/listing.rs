//! Lists of sessions: pages, most recently used first, and search.
//!
//! A page starts after the last entry of the one before (by time of use and key, not by offset), so that a session that
//! moves up meanwhile makes no other appear twice or get lost.

use aethon_core::finding::Words;
use aethon_core::order::{Order, SessionField};
use aethon_core::session::{SessionPage, SessionQuery, SessionSummary};

use crate::db::{Sql, params};
use crate::error::Error;

mod rows;
mod sorted;

pub(crate) use rows::read;
use rows::{COUNT, Cursor, FOUND_COUNT, found};

/// Maximum page size.
const MAX_PAGE: usize = 500;

const PAGE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
    message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
    WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
    AND role = 'assistant') FROM sessions WHERE (updated_at, session_key) < ($1, $2) AND ($3::text IS NULL OR channel = $3)
    ORDER BY updated_at DESC, session_key DESC LIMIT $4";

const FOUND_PAGE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
    message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
    WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
    AND role = 'assistant') FROM sessions WHERE (updated_at, session_key) < ($1, $2) AND ($3::text IS NULL OR channel = $3)
    AND (session_key = ANY (ARRAY(SELECT jsonb_array_elements_text($5::jsonb)::bigint)) OR NOT EXISTS
        (SELECT 1 FROM jsonb_array_elements_text($6::jsonb) AS word
            WHERE strpos(lower(sessions.title || ' ' || sessions.id), word) = 0))
    ORDER BY updated_at DESC, session_key DESC LIMIT $4";

/// Returns the summary of one session.
pub(crate) fn summary(sql: &Sql<'_>, id: &str) -> Result<Option<SessionSummary>, Error> {
    const ONE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
        message_count, model, effort, instructions, folder, pinned, archived, EXISTS (SELECT 1 FROM messages
    WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL AND messages.id > read_through
    AND role = 'assistant') FROM sessions WHERE id = $1";
    Ok(sql.first(ONE, [id], read)?.and_then(|(_, summary)| summary))
}

/// Returns a page of sessions.
pub(crate) fn page(sql: &Sql<'_>, query: &SessionQuery) -> Result<SessionPage, Error> {
    let limit = query.limit.clamp(1, MAX_PAGE);
    if let Some(order) = query.order.filter(|order| *order != Order::descending(SessionField::Updated)) {
        return sorted::page(sql, query, order, limit);
    }
    let from = query.cursor.as_deref().map_or(Ok(Cursor::START), Cursor::parse)?;
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let channel = query.channel.as_deref();
    let (mut rows, count): (Vec<_>, i64) = match query.search.as_deref().and_then(Words::of) {
        None => (
            sql.all(PAGE, params![from.updated_at, from.key, channel, wanted], read)?,
            sql.one(COUNT, [channel], |row| row.get(0))?,
        ),
        Some(words) => {
            let (found, names) = found(sql, &words)?;
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
