//! The reader's side: a temporary session is found by its id, and is in no list.

use aethon_core::error::{Error, Result};
use aethon_core::history::{Aside, History, HistoryQuery, MessageHits, MessageQuery, Passage, TurnVersions};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::Message;
use aethon_core::session::{
    BinPage, BinQuery, Binned, Clear, Discard, SessionKeeping, SessionPage, SessionPatch, SessionQuery,
    SessionSummary, Transcripts, TurnRecord,
};
use aethon_core::version::Expected;
use async_trait::async_trait;

use super::storage::Temporary;

impl Temporary {
    fn read(&self, session: &SessionId) -> &dyn Transcripts {
        if session.is_temporary() { &self.memory } else { &*self.lasting.transcripts }
    }

    fn search_in(&self, session: &SessionId) -> &dyn History {
        if session.is_temporary() { &self.memory } else { &*self.lasting.history }
    }
}

#[async_trait]
impl Transcripts for Temporary {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        self.lasting.transcripts.sessions(query).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        self.read(id).session(id).await
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.read(id).messages(id, before, limit).await
    }

    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>> {
        self.read(id).pending(id).await
    }

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool> {
        self.read(id).patch(id, patch, expected).await
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        if !id.is_temporary() {
            return self.lasting.transcripts.clear(id, how).await;
        }
        if !how.is_delete() {
            return self.memory.clear(id, how).await;
        }
        if let Clear::DeleteIf(expected) | Clear::Bin(expected) = &how {
            let present = self.memory.session(id).await?;
            expected.check(|| present.map(|present| present.version()))?;
        }
        // The bin would keep it.
        self.end(id).await
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>> {
        // Something that comes later, such as the result of a job, must not bring back a session that was left.
        if id.is_temporary() && self.memory.session(id).await?.is_none() {
            return Err(Error::invalid("this temporary conversation is over"));
        }
        self.read(id).post(id, key, message).await
    }
}

#[async_trait]
impl SessionKeeping for Temporary {
    async fn mark_read(&self, id: &SessionId) -> Result<bool> {
        self.read(id).mark_read(id).await
    }

    async fn suggest_title(&self, id: &SessionId, title: &str) -> Result<bool> {
        self.read(id).suggest_title(id, title).await
    }

    async fn binned(&self, query: BinQuery) -> Result<BinPage> {
        self.lasting.transcripts.binned(query).await
    }

    async fn restore(&self, which: Binned) -> Result<Option<SessionId>> {
        self.lasting.transcripts.restore(which).await
    }

    async fn discard(&self, which: Discard) -> Result<u64> {
        self.lasting.transcripts.discard(which).await
    }
}

#[async_trait]
impl History for Temporary {
    async fn search(&self, session: &SessionId, query: HistoryQuery) -> Result<Vec<Passage>> {
        self.search_in(session).search(session, query).await
    }

    async fn find(&self, query: MessageQuery) -> Result<MessageHits> {
        match &query.session {
            Some(session) => self.search_in(session).find(query.clone()).await,
            None => self.lasting.history.find(query).await,
        }
    }

    async fn messages_after(
        &self,
        session: &SessionId,
        after: MessageId,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.search_in(session).messages_after(session, after, limit).await
    }

    async fn versions(&self, session: &SessionId) -> Result<Vec<TurnVersions>> {
        self.search_in(session).versions(session).await
    }

    async fn aside(&self, session: &SessionId, after: Option<MessageId>, limit: usize) -> Result<Vec<Aside>> {
        self.search_in(session).aside(session, after, limit).await
    }

    async fn switch(&self, session: &SessionId, turn: &TurnId) -> Result<()> {
        self.search_in(session).switch(session, turn).await
    }
}
