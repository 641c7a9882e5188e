//! Fakes of the core's traits for the tests of this crate, inside and outside of it: an assistant that answers at once,
//! transcripts in memory, a model that is not asked, a configuration that is nothing but a value.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use aethon_core::assistant::{ActiveTurn, Assistant, PendingReply, Posting, Submitted};
use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::{Block, EndReason, Failure, Inbound, Message, Reply, Role, TurnEnd};
use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelProvider, ModelRequest, ModelStream, Readiness, Usage,
};
use aethon_core::service::ConfigView;
use aethon_core::session::{
    Clear, SessionKeeping, SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnRecord,
};
use aethon_core::surface::Surface;
use aethon_core::version::Expected;
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

/// An assistant that echoes. A text that begins with `!` makes it do something else: see [`FakeAssistant::reply_to`].
#[derive(Default)]
pub(crate) struct FakeAssistant {
    pub(crate) transcripts: Arc<FakeTranscripts>,
    seen: Mutex<Vec<Inbound>>,
    known: Mutex<HashMap<String, (Option<String>, Submitted)>>,
    held: Mutex<Vec<Held>>,
}

/// A turn that waits until it is released.
type Held = (watch::Sender<Option<Arc<Reply>>>, Reply);

impl FakeAssistant {
    /// Returns the messages submitted so far that began a turn.
    pub(crate) fn seen(&self) -> Vec<Inbound> {
        self.seen.lock().unwrap().clone()
    }

    /// Lets every held turn end.
    pub(crate) fn release(&self) -> usize {
        let held = std::mem::take(&mut *self.held.lock().unwrap());
        held.iter().for_each(|(sender, reply)| drop(sender.send_replace(Some(Arc::new(reply.clone())))));
        held.len()
    }

    fn reply_to(turn: &TurnId, inbound: &Inbound) -> Reply {
        let (word, rest) = inbound.text.split_once(' ').unwrap_or((&inbound.text, ""));
        let failure = |code: &str| Some(Failure::new(EndReason::parse(code), "what to do"));
        let (text, end, failure) = match word {
            "!error" => (String::new(), TurnEnd::Error, failure(rest)),
            "!budget" => (String::new(), TurnEnd::Budget, failure("budget_exceeded")),
            "!limit" => ("stopped: a loop".into(), TurnEnd::Limit, failure("loop")),
            "!silent" => (String::new(), TurnEnd::End, None),
            _ => (inbound.text.clone(), TurnEnd::End, None),
        };
        let (turn, session) = (turn.clone(), inbound.session.clone());
        Reply { turn, session, text, end, model: "echo".into(), usage: Usage::default(), failure }
    }
}

#[async_trait]
impl Assistant for FakeAssistant {
    async fn submit(&self, inbound: Inbound, _surface: Arc<dyn Surface>) -> Result<Submitted> {
        assert!(inbound.text != "!panic", "asked to panic");
        if inbound.text == "!full" {
            return Err(Error::full("too many turns wait; try again in a moment"));
        }
        let mut known = self.known.lock().unwrap();
        if let Some(dedupe) = &inbound.dedupe
            && let Some((fingerprint, submitted)) = known.get(&dedupe.id)
        {
            if *fingerprint != dedupe.fingerprint {
                return Err(Error::mismatch("the same id came with another content"));
            }
            return Ok(Submitted { is_new: false, ..submitted.clone() });
        }
        self.seen.lock().unwrap().push(inbound.clone());
        let turn = TurnId::fresh();
        let (sender, pending) = PendingReply::pair();
        let reply = Self::reply_to(&turn, &inbound);
        self.transcripts
            .add(&inbound.session, &[(Role::User, &inbound.text), (Role::Assistant, &reply.text)]);
        if inbound.text == "!hold" {
            self.held.lock().unwrap().push((sender, reply));
        } else {
            sender.send_replace(Some(Arc::new(reply)));
        }
        let submitted = Submitted { turn, queued: 0, is_new: true, reply: pending };
        if let Some(dedupe) = inbound.dedupe {
            known.insert(dedupe.id, (dedupe.fingerprint, submitted.clone()));
        }
        Ok(submitted)
    }

    async fn stop(&self, _session: &SessionId, _turn: Option<&TurnId>) -> usize {
        self.release()
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        Vec::new()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.held.lock().unwrap().iter().any(|(_, reply)| reply.session == *session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        self.transcripts.clear(session, how).await
    }

    async fn post(&self, _session: &SessionId, _key: &str, _posting: &Posting) -> Result<bool> {
        Ok(true)
    }
}

/// Transcripts in memory.
#[derive(Default)]
pub(crate) struct FakeTranscripts(Mutex<BTreeMap<SessionId, (String, Vec<Message>)>>);

impl FakeTranscripts {
    /// Adds messages to a session.
    pub(crate) fn add(&self, session: &SessionId, messages: &[(Role, &str)]) {
        let mut sessions = self.0.lock().unwrap();
        let (_, stored) = sessions.entry(session.clone()).or_insert_with(|| ("A title".into(), Vec::new()));
        for (role, text) in messages {
            let mut message = Message::new(*role, vec![Block::text(*text)], Timestamp::UNIX_EPOCH);
            message.id = MessageId(i64::try_from(stored.len()).unwrap() + 1);
            stored.push(message);
        }
    }

    fn summary(id: &SessionId, (title, messages): &(String, Vec<Message>)) -> SessionSummary {
        SessionSummary {
            session_id: id.clone(),
            channel: id.channel().into(),
            sender: "owner".into(),
            title: title.clone(),
            agent_name: "main".into(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            message_count: messages.len() as u64,
            unread: false,
            settings: Default::default(),
        }
    }
}

#[async_trait]
impl SessionKeeping for FakeTranscripts {
    async fn mark_read(&self, _id: &SessionId) -> Result<bool> {
        Ok(false)
    }
}

#[async_trait]
impl Transcripts for FakeTranscripts {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        if query.cursor.is_some() {
            return Err(Error::invalid("there is no such page"));
        }
        let sessions = self.0.lock().unwrap();
        let all: Vec<_> = sessions.iter().map(|(id, session)| Self::summary(id, session)).collect();
        let count = all.len() as u64;
        Ok(SessionPage { sessions: all.into_iter().take(query.limit).collect(), count, next_cursor: None })
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        Ok(self.0.lock().unwrap().get(id).map(|session| Self::summary(id, session)))
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let sessions = self.0.lock().unwrap();
        let messages = sessions.get(id).map(|(_, messages)| messages.clone()).unwrap_or_default();
        let older: Vec<_> =
            messages.into_iter().filter(|message| before.is_none_or(|before| message.id < before)).collect();
        Ok(older[older.len().saturating_sub(limit)..].to_vec())
    }

    async fn pending(&self, _id: &SessionId) -> Result<Vec<TurnRecord>> {
        Ok(Vec::new())
    }

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool> {
        let mut sessions = self.0.lock().unwrap();
        expected.check(|| Some(Self::summary(id, sessions.get(id)?).version()))?;
        let Some(session) = sessions.get_mut(id) else { return Ok(false) };
        if let Some(title) = &patch.title {
            session.0.clone_from(title);
        }
        Ok(true)
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        let mut sessions = self.0.lock().unwrap();
        how.check(|| Some(Self::summary(id, sessions.get(id)?).version()))?;
        if how.is_delete() {
            return Ok(sessions.remove(id).is_some());
        }
        let Some(session) = sessions.get_mut(id) else { return Ok(false) };
        session.1.clear();
        Ok(true)
    }

    async fn post(&self, _id: &SessionId, _key: &str, _message: Message) -> Result<Option<MessageId>> {
        Ok(None)
    }
}

/// A model that is never called.
pub(crate) struct FakeProvider(Arc<Capabilities>);

impl Default for FakeProvider {
    fn default() -> Self {
        Self(Arc::new(Capabilities::new("echo", "echo-1").with_sizes(1, 1).with_abilities(false, false)))
    }
}

#[async_trait]
impl ModelProvider for FakeProvider {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::NotConfigured("set `model.api_key`".into())
    }

    async fn stream(&self, _request: ModelRequest) -> Result<ModelStream, ModelError> {
        Err(ModelError::new(ModelErrorKind::Refused, "nobody asks"))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("here".into())
    }
}

/// A configuration that is nothing but a value.
pub(crate) struct FakeConfig;

impl ConfigView for FakeConfig {
    fn dump(&self) -> Value {
        json!({"dashboard": {"auth_token": "***"}})
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }
}
