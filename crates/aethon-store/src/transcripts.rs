//! The reading side: what pages, the API and the terminal show of conversations.

use aethon_core::error::Result as CoreResult;
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::message::Message;
use aethon_core::session::{
    Clear, MAX_PAGE_BYTES, SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnRecord,
    title_of,
};
use aethon_core::version::Expected;
use async_trait::async_trait;
use rusqlite::params;

use crate::db::Sql;
use crate::error::Error;
use crate::messages::{self, NewMessage, PageLimits};
use crate::sessions::{self, SessionOpening};
use crate::store::Store;
use crate::{listing, purge, turns};

#[async_trait]
impl Transcripts for Store {
    async fn sessions(&self, query: SessionQuery) -> CoreResult<SessionPage> {
        Ok(self.read(move |sql| listing::page(sql, &query)).await?)
    }

    async fn session(&self, id: &SessionId) -> CoreResult<Option<SessionSummary>> {
        let id = id.clone();
        Ok(self.read(move |sql| listing::summary(sql, id.as_str())).await?)
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> CoreResult<Vec<Message>> {
        let (id, before) = (id.clone(), before.map_or(i64::MAX, |before| before.0));
        let read = move |sql: &Sql<'_>| {
            let Some(key) = sessions::key(sql, id.as_str())? else { return Ok(Vec::new()) };
            let limits = PageLimits { messages: limit, bytes: MAX_PAGE_BYTES };
            messages::page(sql, key, (0, before), limits)
        };
        Ok(self.read(read).await?)
    }

    async fn pending(&self, id: &SessionId) -> CoreResult<Vec<TurnRecord>> {
        let id = id.clone();
        let read = move |sql: &Sql<'_>| match sessions::key(sql, id.as_str())? {
            Some(key) => turns::open(sql, Some(key)),
            None => Ok(Vec::new()),
        };
        Ok(self.read(read).await?)
    }

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> CoreResult<bool> {
        let (id, patch) = (id.clone(), patch.clone());
        let apply = move |sql: &Sql<'_>| {
            let present = listing::summary(sql, id.as_str())?;
            expected.check(|| present.as_ref().map(SessionSummary::version))?;
            let Some(present) = present else { return Ok(false) };
            sessions::patch(sql, id.as_str(), present.settings, &patch)?;
            Ok(true)
        };
        Ok(self.write(apply).await?)
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> CoreResult<bool> {
        let (id, now) = (id.clone(), self.now());
        let detached = self.write(move |sql| purge::detach(sql, id.as_str(), &how, now)).await?;
        let Some(key) = detached else { return Ok(false) };
        for _ in 0..purge::AWAITED_STEPS {
            match self.write(move |sql| purge::purge_some_of(sql, key)).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "messages of a removed session are still in the file; idle moments will remove them");
                    break;
                }
            }
        }
        Ok(true)
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> CoreResult<Option<MessageId>> {
        let now = self.now();
        let turn = message.turn.clone();
        let title = title_of(&message);
        let (key, message) = (key.to_owned(), NewMessage::from(&message)?);
        let agent_name = self.agent_name().to_owned();
        let opening = SessionOpening { id: id.clone(), sender: None, agent_name, is_oneshot: false, now };
        let post = move |sql: &Sql<'_>| -> Result<Option<MessageId>, Error> {
            const REMEMBER: &str =
                "INSERT OR IGNORE INTO posted (session, post_key, posted_at) VALUES (?1, ?2, ?3)";
            if sql.execute(REMEMBER, params![opening.id.as_str(), key, now])? == 0 {
                return Ok(None);
            }
            let session = sessions::open(sql, &opening)?;
            let turn = turn.as_ref().map(aethon_core::ids::TurnId::as_str);
            let message = messages::insert(sql, session.key, turn, &message)?;
            sessions::touch(sql, session.key, 1, now)?;
            if session.is_untitled {
                sessions::suggest_title(sql, session.key, &title)?;
            }
            Ok(Some(MessageId(message)))
        };
        Ok(self.write(post).await?)
    }
}
