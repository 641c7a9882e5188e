//! The reader's side of the in-memory storage.

use async_trait::async_trait;

use super::listing;
use super::store::MemoryStore;
use super::tables::{TurnRow, Versions};
use crate::error::Result;
use crate::ids::{MessageId, SessionId};
use crate::message::{Message, Role};
use crate::session::{
    Clear, MAX_PAGE_BYTES, SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnPhase,
    TurnRecord,
};
use crate::version::Expected;

#[async_trait]
impl Transcripts for MemoryStore {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        listing::page(&*self.enter("sessions")?, &query)
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        let tables = self.enter("session")?;
        Ok(tables.sessions.get(id).map(|session| listing::summary(id, session)))
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let tables = self.enter("messages")?;
        let Some(session) = tables.sessions.get(id) else { return Ok(Vec::new()) };
        let older = session.messages.iter().filter(|message| before.is_none_or(|before| message.id < before));
        let mut bytes = 0;
        let fits = |message: &&&Message| {
            let is_first = bytes == 0;
            bytes += serde_json::to_string(&message.content).map_or(0, |content| content.len());
            is_first || bytes <= MAX_PAGE_BYTES
        };
        let older: Vec<_> = older.collect();
        let mut page: Vec<_> =
            older.iter().rev().take(limit).take_while(fits).map(|&message| message.clone()).collect();
        page.reverse();
        Ok(page)
    }

    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>> {
        let tables = self.enter("pending")?;
        let is_open = |row: &TurnRow| row.record.phase != TurnPhase::Done || !row.held.is_empty();
        let rows = tables.turns.values().filter(|row| row.record.inbound.session == *id);
        let mut open: Vec<_> = rows.filter(|row| is_open(row)).collect();
        open.sort_by_key(|row| row.number);
        Ok(open.into_iter().map(|row| row.record.clone()).collect())
    }

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool> {
        let mut tables = self.enter("rename")?;
        expected.check(|| Some(listing::summary(id, tables.sessions.get(id)?).version()))?;
        let Some(session) = tables.sessions.get_mut(id) else { return Ok(false) };
        if let Some(title) = &patch.title {
            title.clone_into(&mut session.title);
            session.is_title_given = true;
        }
        patch.apply_to(&mut session.settings);
        Ok(true)
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        let (mut tables, now) = (self.enter("clear")?, self.clock.now());
        how.check(|| Some(listing::summary(id, tables.sessions.get(id)?).version()))?;
        if matches!(how, Clear::Bin(_)) {
            tables.bin(id, now);
        }
        let Some(session) = tables.sessions.get_mut(id) else { return Ok(false) };
        session.messages.clear();
        session.versions = Versions::default();
        session.updated_at = now;
        // The message that the title was taken from is gone, so the title stays.
        session.is_title_given |= !session.title.is_empty();
        if how.is_delete() {
            tables.sessions.remove(id);
        }
        tables.forget_turns(id, now);
        tables.forget_records_of_settled(id);
        tables.deliveries.retain(|row| row.settled_at.is_none() || row.delivery.session != *id);
        Ok(true)
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>> {
        let (mut tables, now) = (self.enter("post")?, self.clock.now());
        debug_assert!(message.role != Role::Tool, "a tool message belongs to a turn");
        if !tables.posted.insert((id.clone(), key.to_owned())) {
            return Ok(None);
        }
        tables.open_session(id, ("", false), now);
        Ok(tables.add(id, None, vec![message], now)?.first().copied())
    }
}
