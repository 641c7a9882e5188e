//! Pages of sessions in the in-memory storage.

use jiff::Timestamp;

use super::tables::{SessionRow, Tables};
use crate::error::Result;
use crate::ids::SessionId;
use crate::message::Role;
use crate::order::{Order, Place, SessionField, SortValue};
use crate::session::{SessionPage, SessionQuery, SessionSummary};

/// Sessions, most recently used first. A page begins after the place where the previous one ended.
pub(super) fn page(tables: &Tables, query: &SessionQuery) -> Result<SessionPage> {
    let words: Vec<String> =
        query.search.as_deref().unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let is_meant = |id: &SessionId| query.channel.as_deref().is_none_or(|channel| channel == id.channel());
    let found: Vec<_> =
        tables.sessions.iter().filter(|(id, row)| is_meant(id) && contains(id, row, &words)).collect();
    let order = query.order.unwrap_or(Order::descending(SessionField::Updated));
    let place = |(id, row): &(&SessionId, &SessionRow)| Place {
        value: Some(match order.by {
            SessionField::Updated => SortValue::time(row.updated_at),
            SessionField::Created => SortValue::time(row.created_at),
            SessionField::Title if row.title.is_empty() => SortValue::text(id.as_str()),
            SessionField::Title => SortValue::text(&row.title),
            SessionField::Channel => SortValue::text(id.channel()),
            SessionField::Messages => SortValue::count(row.messages.len()),
        }),
        key: row.number,
    };
    let page = order.page(found, place, query.cursor.as_deref(), query.limit.max(1))?;
    let sessions = page.rows.into_iter().map(|(id, row)| summary(id, row)).collect();
    Ok(SessionPage { sessions, count: page.count as u64, next_cursor: page.next_cursor })
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
