//! What people have read in the in-memory storage, and its bin.

use async_trait::async_trait;
use jiff::Timestamp;

use super::listing;
use super::store::MemoryStore;
use super::tables::{BinRow, Tables};
use crate::error::Result;
use crate::ids::SessionId;
use crate::session::{BinId, BinPage, BinQuery, Binned, BinnedSession, Discard, SessionKeeping, TurnPhase};

#[async_trait]
impl SessionKeeping for MemoryStore {
    async fn mark_read(&self, id: &SessionId) -> Result<bool> {
        let mut tables = self.enter("mark_read")?;
        let Some(session) = tables.sessions.get_mut(id) else { return Ok(false) };
        let newest = session.messages.last().map_or(session.read_through, |message| message.id);
        let was_unread = newest > session.read_through;
        session.read_through = newest;
        Ok(was_unread)
    }

    async fn suggest_title(&self, id: &SessionId, title: &str) -> Result<bool> {
        let mut tables = self.enter("suggest_title")?;
        let session = tables.sessions.get_mut(id).filter(|session| !session.is_title_given);
        let Some(session) = session.filter(|session| !session.title.is_empty()) else { return Ok(false) };
        title.clone_into(&mut session.title);
        session.is_title_given = true;
        Ok(true)
    }

    async fn binned(&self, query: BinQuery) -> Result<BinPage> {
        let tables = self.enter("binned")?;
        let mut rows: Vec<&BinRow> = tables.bin.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.deleted_at, row.place)));
        let count = rows.len() as u64;
        rows.retain(|row| query.before.is_none_or(|before| (row.deleted_at, BinId(row.place)) < before));
        let has_more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let sessions = rows.into_iter().map(|row| BinnedSession {
            bin_id: BinId(row.place),
            deleted_at: row.deleted_at,
            summary: listing::summary(&row.id, &row.session),
        });
        Ok(BinPage { sessions: sessions.collect(), count, has_more })
    }

    async fn restore(&self, which: Binned) -> Result<Option<SessionId>> {
        let mut tables = self.enter("restore")?;
        let rows = tables.bin.iter().enumerate().filter(|(_, row)| match &which {
            Binned::Place(BinId(place)) => row.place == *place,
            Binned::Last(id) => row.id == *id,
        });
        let found = rows.max_by_key(|(_, row)| (row.deleted_at, row.place)).map(|(at, _)| at);
        let Some(found) = found else { return Ok(None) };
        let BinRow { id, session, turns, .. } = tables.bin.remove(found);
        let is_taken = |id: &SessionId| tables.sessions.contains_key(id);
        let free = (2..).map(|number| id.numbered(number)).find(|id| !is_taken(id));
        let id = if is_taken(&id) { free.unwrap_or(id) } else { id };
        for mut row in turns {
            row.record.inbound.session = id.clone();
            tables.turns.insert(row.record.turn.clone(), row);
        }
        tables.sessions.insert(id.clone(), session);
        Ok(Some(id))
    }

    async fn discard(&self, which: Discard) -> Result<u64> {
        let mut tables = self.enter("discard")?;
        let before = tables.bin.len();
        tables.bin.retain(|row| match &which {
            Discard::One(BinId(place)) => row.place != *place,
            Discard::Named(id) => row.id != *id,
            Discard::All => false,
        });
        Ok((before - tables.bin.len()) as u64)
    }
}

impl Tables {
    /// Puts a copy of a session and its turns that are over into the bin.
    pub(super) fn bin(&mut self, id: &SessionId, now: Timestamp) {
        let place = self.next_number();
        let Some(session) = self.sessions.get(id).cloned() else { return };
        let is_whole = |row: &&super::tables::TurnRow| {
            row.record.inbound.session == *id && !row.is_shell && row.record.phase == TurnPhase::Done
        };
        let turns = self.turns.values().filter(is_whole).cloned().collect();
        self.bin.push(BinRow { place, id: id.clone(), deleted_at: now, session, turns });
    }
}
