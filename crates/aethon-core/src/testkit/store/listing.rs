//! Pages of sessions in the in-memory storage.

use jiff::Timestamp;

use super::tables::{SessionRow, Tables};
use crate::error::{Error, Result};
use crate::ids::SessionId;
use crate::message::Role;
use crate::session::{SessionPage, SessionQuery, SessionSummary};

/// Sessions, most recently used first. A page begins after the place where the previous one ended.
pub(super) fn page(tables: &Tables, query: &SessionQuery) -> Result<SessionPage> {
    let from = query.cursor.as_deref().map(parse).transpose()?;
    let words: Vec<String> =
        query.search.as_deref().unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let is_meant = |id: &SessionId| query.channel.as_deref().is_none_or(|channel| channel == id.channel());
    let mut found: Vec<_> =
        tables.sessions.iter().filter(|(id, row)| is_meant(id) && contains(id, row, &words)).collect();
    let count = found.len() as u64;
    let place = |row: &SessionRow| (row.updated_at.as_millisecond(), row.number);
    found.sort_by_key(|(_, row)| std::cmp::Reverse(place(row)));
    found.retain(|(_, row)| from.is_none_or(|from| place(row) < from));
    let is_last = found.len() <= query.limit.max(1);
    found.truncate(query.limit.max(1));
    let next_cursor = found.last().filter(|_| !is_last).map(|(_, row)| {
        let (moment, number) = place(row);
        format!("{moment:x}-{number:x}")
    });
    let sessions = found.into_iter().map(|(id, row)| summary(id, row)).collect();
    Ok(SessionPage { sessions, count, next_cursor })
}

/// A session without its messages.
pub(super) fn summary(id: &SessionId, row: &SessionRow) -> SessionSummary {
    SessionSummary {
        session_id: id.clone(),
        channel: id.channel().into(),
        sender: row.sender.clone(),
        title: row.title.clone(),
        agent_name: "aethon".into(),
        created_at: truncated(row.created_at),
        updated_at: truncated(row.updated_at),
        message_count: row.messages.len() as u64,
        unread: row.messages.iter().any(|said| said.role == Role::Assistant && said.id > row.read_through),
        settings: row.settings.clone(),
    }
}

/// Timestamps are stored to the millisecond.
fn truncated(moment: Timestamp) -> Timestamp {
    crate::time::to_millisecond(moment)
}

/// Whether the title and id contain all words, or words of its messages begin with all of them.
fn contains(id: &SessionId, row: &SessionRow, words: &[String]) -> bool {
    let name = format!("{} {id}", row.title).to_lowercase();
    let said: Vec<String> = row.messages.iter().map(|message| message.text().to_lowercase()).collect();
    let is_said = |word: &String| {
        said.iter().any(|text| {
            text.match_indices(word.as_str()).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                before.is_none_or(|before| !before.is_ascii_alphanumeric())
            })
        })
    };
    words.iter().all(|word| name.contains(word)) || words.iter().all(is_said)
}

fn parse(cursor: &str) -> Result<(i64, i64)> {
    let number = |digits: &str| i64::from_str_radix(digits, 16).ok();
    let place = cursor.split_once('-').and_then(|(time, key)| Some((number(time)?, number(key)?)));
    place.ok_or_else(|| {
        Error::invalid("the cursor is not valid: use the `next_cursor` of the page before, unchanged")
    })
}
