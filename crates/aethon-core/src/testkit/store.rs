//! A storage in memory that keeps to the contract of [`TurnLog`] and [`Transcripts`].

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;

use super::Gate;
use crate::channel::NewDelivery;
use crate::error::{Error, Result};
use crate::ids::{MessageId, SessionId, TurnId};
use crate::message::{Block, Inbound, Message, Role};
use crate::session::{
    Accepted, Begin, Clear, Finish, Finished, SessionPage, SessionQuery, SessionSummary, Transcripts,
    TurnLog, TurnPhase, TurnRecord,
};

/// A storage in memory.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now: Timestamp,
    next_id: i64,
    sessions: BTreeMap<SessionId, Session>,
    turns: BTreeMap<TurnId, TurnRecord>,
    begun: BTreeMap<TurnId, MessageId>,
    posted: BTreeMap<(SessionId, String), MessageId>,
    deliveries: Vec<NewDelivery>,
    calls: Vec<&'static str>,
    failures: BTreeMap<&'static str, usize>,
    /// Where the end of a turn waits before it is stored.
    before_finish: Option<Gate>,
}

#[derive(Default)]
struct Session {
    title: Option<String>,
    messages: Vec<Message>,
}

impl MemoryStore {
    /// An empty one in which it is `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { state: Mutex::new(State { now, ..State::default() }) }
    }

    /// The names of the methods that were called on it so far, `window` and `turn` included.
    pub fn calls(&self) -> Vec<&'static str> {
        self.lock().calls.clone()
    }

    /// The deliveries of all finished turns.
    pub fn deliveries(&self) -> Vec<NewDelivery> {
        self.lock().deliveries.clone()
    }

    /// The live branch of a session.
    pub fn transcript(&self, session: &SessionId) -> Vec<Message> {
        self.lock().sessions.get(session).map(|session| session.messages.clone()).unwrap_or_default()
    }

    /// Lets the next `times` calls of `method` fail.
    pub fn fail(&self, method: &'static str, times: usize) {
        self.lock().failures.insert(method, times);
    }

    /// Has the next end of a turn wait at this gate before it is stored.
    pub fn hold_finish(&self, gate: Gate) {
        self.lock().before_finish = Some(gate);
    }

    /// Puts a turn in as a crash would have left it, with the messages that it had stored.
    pub fn leave_behind(&self, record: TurnRecord, messages: Vec<Message>) {
        let mut state = self.lock();
        if let Some(first) = state.add(&record.inbound.session, &record.turn, messages).first() {
            state.begun.insert(record.turn.clone(), *first);
        }
        state.turns.insert(record.turn.clone(), record);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, method: &'static str) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        state.calls.push(method);
        match state.failures.get_mut(method) {
            Some(times) if *times > 0 => {
                *times -= 1;
                Err(Error::internal(format!("{method} was told to fail")))
            }
            _ => Ok(state),
        }
    }
}

impl State {
    fn add(&mut self, session: &SessionId, turn: &TurnId, messages: Vec<Message>) -> Vec<MessageId> {
        let mut ids = Vec::new();
        for mut message in messages {
            self.next_id += 1;
            message.id = MessageId(self.next_id);
            message.turn.get_or_insert_with(|| turn.clone());
            ids.push(message.id);
            self.sessions.entry(session.clone()).or_default().messages.push(message);
        }
        ids
    }

    fn begin(&mut self, turn: &TurnId, begin: Begin) -> Result<MessageId> {
        let record = self.turns.get_mut(turn).ok_or_else(|| Error::not_found("there is no such turn"))?;
        if record.phase == TurnPhase::Done {
            return Err(Error::invalid("the turn has ended before"));
        }
        let session = record.inbound.session.clone();
        if let Some(id) = self.begun.get(turn) {
            record.attempts += 1;
            return Ok(*id);
        }
        if let Some(replaced) = &begin.replaces {
            let messages = &mut self.sessions.entry(session.clone()).or_default().messages;
            let cut = messages.iter().position(|message| message.turn.as_ref() == Some(replaced));
            let cut = cut.ok_or_else(|| Error::not_found("there is no such turn in this conversation"))?;
            messages.truncate(cut);
        }
        record.attempts += 1;
        record.phase = TurnPhase::Running;
        let id = self.add(&session, turn, vec![begin.message])[0];
        self.begun.insert(turn.clone(), id);
        Ok(id)
    }

    fn session_of(&self, turn: &TurnId) -> Result<SessionId> {
        let record = self.turns.get(turn).ok_or_else(|| Error::not_found("there is no such turn"))?;
        Ok(record.inbound.session.clone())
    }

    fn summary(&self, id: &SessionId) -> Option<SessionSummary> {
        let session = self.sessions.get(id)?;
        Some(SessionSummary {
            session_id: id.clone(),
            channel: id.channel().into(),
            sender: "owner".into(),
            title: session.title.clone().unwrap_or_default(),
            agent_name: "aethon".into(),
            created_at: self.now,
            updated_at: self.now,
            message_count: session.messages.len() as u64,
        })
    }
}

#[async_trait]
impl TurnLog for MemoryStore {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> Result<Accepted> {
        let mut state = self.enter("accept")?;
        if let Some(dedupe) = &inbound.dedupe {
            let known = state.turns.values().find(|record| {
                record.inbound.channel == inbound.channel
                    && record.inbound.dedupe.as_ref().is_some_and(|other| other.id == dedupe.id)
            });
            if let Some(record) = known {
                return Ok(Accepted::Known(Box::new(record.clone())));
            }
        }
        let accepted_at = state.now;
        state.sessions.entry(inbound.session.clone()).or_default();
        let record = TurnRecord {
            turn: turn.clone(),
            inbound: inbound.clone(),
            phase: TurnPhase::Queued,
            accepted_at,
            attempts: 0,
            reply: None,
        };
        state.turns.insert(turn.clone(), record);
        let id = begin.map(|begin| state.begin(turn, begin)).transpose()?;
        Ok(Accepted::New(id))
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<MessageId> {
        self.enter("begin")?.begin(turn, begin)
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
        let mut state = self.enter("append")?;
        let session = state.session_of(turn)?;
        Ok(state.add(&session, turn, messages))
    }

    async fn finish(&self, finish: Finish) -> Result<Finished> {
        let gate = self.lock().before_finish.take();
        if let Some(gate) = gate {
            gate.pass().await;
        }
        let mut state = self.enter("finish")?;
        let session = state.session_of(&finish.reply.turn)?;
        if state.turns.get(&finish.reply.turn).is_some_and(|record| record.phase == TurnPhase::Done) {
            return Err(Error::invalid("the turn has ended before"));
        }
        let ids = state.add(&session, &finish.reply.turn, finish.messages);
        state.deliveries.extend(finish.deliveries);
        if let Some(record) = state.turns.get_mut(&finish.reply.turn) {
            record.phase = TurnPhase::Done;
            record.reply = Some(finish.reply);
        }
        let next = finish.next.and_then(|(next, begin)| state.begin(&next, begin).ok());
        Ok(Finished { messages: ids, next })
    }

    async fn window(&self, session: &SessionId, limit: usize) -> Result<Vec<Message>> {
        let state = self.enter("window")?;
        let messages = state.sessions.get(session).map(|session| session.messages.as_slice());
        let messages = messages.unwrap_or_default();
        let folded_through = messages.iter().rev().find_map(folded_through).unwrap_or_default();
        let first =
            messages.iter().position(|message| message.id.0 > folded_through).unwrap_or(messages.len());
        let messages = &messages[first..];
        Ok(messages[messages.len().saturating_sub(limit)..].to_vec())
    }

    async fn turn(&self, turn: &TurnId) -> Result<Option<TurnRecord>> {
        Ok(self.enter("turn")?.turns.get(turn).cloned())
    }

    async fn unfinished(&self) -> Result<Vec<TurnRecord>> {
        let state = self.enter("unfinished")?;
        Ok(state.turns.values().filter(|record| record.phase != TurnPhase::Done).cloned().collect())
    }
}

#[async_trait]
impl Transcripts for MemoryStore {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        let state = self.enter("sessions")?;
        let found: Vec<_> = state.sessions.keys().filter_map(|id| state.summary(id)).collect();
        let count = found.len() as u64;
        let sessions = found.into_iter().take(query.limit).collect();
        Ok(SessionPage { sessions, count, next_cursor: None })
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        Ok(self.enter("session")?.summary(id))
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let state = self.enter("messages")?;
        let Some(session) = state.sessions.get(id) else { return Ok(Vec::new()) };
        let older = session.messages.iter().filter(|message| before.is_none_or(|before| message.id < before));
        let older: Vec<_> = older.cloned().collect();
        Ok(older[older.len().saturating_sub(limit)..].to_vec())
    }

    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>> {
        let state = self.enter("pending")?;
        let open = state.turns.values().filter(|record| record.phase != TurnPhase::Done);
        Ok(open.filter(|record| record.inbound.session == *id).cloned().collect())
    }

    async fn rename(&self, id: &SessionId, title: &str) -> Result<bool> {
        let mut state = self.enter("rename")?;
        let Some(session) = state.sessions.get_mut(id) else { return Ok(false) };
        session.title = Some(title.into());
        Ok(true)
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        let mut state = self.enter("clear")?;
        let Some(session) = state.sessions.get_mut(id) else { return Ok(false) };
        session.messages.clear();
        if how == Clear::Delete {
            state.sessions.remove(id);
            state.turns.retain(|_, record| record.inbound.session != *id);
        }
        Ok(true)
    }

    async fn post(&self, id: &SessionId, key: &str, mut message: Message) -> Result<Option<MessageId>> {
        let mut state = self.enter("post")?;
        let key = (id.clone(), key.to_owned());
        if state.posted.contains_key(&key) {
            return Ok(None);
        }
        debug_assert!(message.role != Role::Tool, "a tool message belongs to a turn");
        state.next_id += 1;
        message.id = MessageId(state.next_id);
        state.posted.insert(key, message.id);
        let posted = message.id;
        state.sessions.entry(id.clone()).or_default().messages.push(message);
        Ok(Some(posted))
    }
}

/// The last message that the summary in this one stands for.
fn folded_through(message: &Message) -> Option<i64> {
    message.content.iter().find_map(|block| match block {
        Block::Folded { to, .. } => to.parse().ok(),
        _ => None,
    })
}
