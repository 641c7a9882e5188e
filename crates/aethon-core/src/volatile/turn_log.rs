//! The engine's side of the in-memory storage.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use super::store::MemoryStore;
use super::tables::{DeliveryRow, TurnRow};
use crate::channel::Delivery;
use crate::error::{Error, Result};
use crate::ids::{MessageId, SessionId, TurnId};
use crate::message::{Block, Inbound, Message};
use crate::session::{Accepted, Begin, Begun, Finish, Finished, TurnLog, TurnLookup, TurnPhase, TurnRecord};

#[async_trait]
impl TurnLog for MemoryStore {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> Result<Accepted> {
        let (mut tables, now) = (self.enter("accept")?, self.clock.now());
        if let Some(dedupe) = &inbound.dedupe
            && let Some(record) = tables.known(&inbound.channel, &dedupe.id, now)
        {
            return Ok(Accepted::Known(Box::new(record)));
        }
        let valid_for = inbound.dedupe.as_ref().and_then(|dedupe| dedupe.valid_for);
        let record = TurnRecord {
            turn: turn.clone(),
            inbound: inbound.clone(),
            phase: TurnPhase::Queued,
            accepted_at: now,
            attempts: 0,
            reply: None,
        };
        let known_until = valid_for
            .and_then(|seconds| i64::try_from(seconds).ok())
            // A validity beyond the end of the calendar lasts for ever.
            .and_then(|seconds| now.checked_add(SignedDuration::from_secs(seconds)).ok());
        let before = tables.head(&inbound.session);
        tables.open_session(&inbound.session, (&inbound.sender, inbound.oneshot), now);
        tables.renew(self.owner, now);
        let number = tables.next_number();
        let (owner, held) = (Some(self.owner), Vec::new());
        let row = TurnRow { number, record, owner, first_message: None, held, known_until, is_shell: false };
        tables.turns.insert(turn.clone(), row);
        let is_free = !tables.is_held(&inbound.session, self.owner, number);
        let begin = begin.filter(|_| is_free);
        let begun = begin.map(|begin| tables.begin(turn, begin, (self.owner, now))).transpose();
        if begun.is_err() {
            tables.turns.remove(turn);
            tables.put_back(&inbound.session, before);
        }
        Ok(Accepted::New(begun?))
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<Begun> {
        let now = self.clock.now();
        self.enter("begin")?.begin(turn, begin, (self.owner, now))
    }

    async fn is_ours(&self, turn: &TurnId) -> Result<bool> {
        let tables = self.enter("is_ours")?;
        let row = tables.turns.get(turn);
        Ok(row.is_some_and(|row| row.record.phase != TurnPhase::Done && row.owner == Some(self.owner)))
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
        let (mut tables, now) = (self.enter("append")?, self.clock.now());
        let row = tables.turn(turn)?;
        if row.record.phase != TurnPhase::Running {
            return Err(Error::invalid(format!("the turn {turn} does not run")));
        }
        let record = &row.of(self.owner)?.record;
        let session = record.inbound.session.clone();
        tables.add(&session, Some(turn), messages, now)
    }

    async fn finish(&self, finish: Finish) -> Result<Finished> {
        #[cfg(feature = "testkit")]
        self.wait_before_finish().await;
        let (mut tables, now) = (self.enter("finish")?, self.clock.now());
        let turn = finish.reply.turn.clone();
        let row = tables.turn(&turn)?;
        if row.record.phase == TurnPhase::Done {
            return Err(Error::invalid(format!("the turn {turn} has ended before")));
        }
        let record = &row.of(self.owner)?.record;
        let session = record.inbound.session.clone();
        let beside = tables.has_beside(&turn, &session);
        let messages = tables.add_last(&turn, Arc::unwrap_or_clone(finish.messages), now)?;
        for content in finish.deliveries {
            let id = tables.next_number();
            let (session, turn) = (session.clone(), turn.clone());
            let delivery = Delivery { id, session, turn, content, attempts: 0 };
            let due_at = now.max(tables.last_due(&delivery.content).unwrap_or(now));
            let mut row = DeliveryRow::new(delivery, now);
            row.due_at = Some(due_at);
            tables.deliveries.push(row);
        }
        let row = tables.turn(&turn)?;
        row.record.phase = TurnPhase::Done;
        row.record.reply = Some(Arc::unwrap_or_clone(finish.reply));
        tables.release_held(&session, now)?;
        let next = finish.next.and_then(|(next, begin)| tables.begin(&next, begin, (self.owner, now)).ok());
        Ok(Finished { messages, beside, next })
    }

    async fn window(&self, session: &SessionId, limit: usize) -> Result<Vec<Message>> {
        let tables = self.enter("window")?;
        let messages = tables.sessions.get(session).map(|session| session.messages.as_slice());
        let messages = messages.unwrap_or_default();
        let summary = messages.iter().rev().find_map(|message| Some((message, folded_through(message)?)));
        let Some((summary, through)) = summary else {
            return Ok(messages[messages.len().saturating_sub(limit)..].to_vec());
        };
        // Messages posted while the turn that made the summary was running were in none of its windows, and so are in
        // no summary.
        let began =
            messages.iter().position(|message| message.turn == summary.turn).unwrap_or(messages.len());
        let seen = messages.iter().enumerate().filter(|(place, message)| {
            let is_beside =
                *place > began && message.turn != summary.turn && folded_through(message).is_none();
            message.id.0 > through || is_beside
        });
        let seen: Vec<Message> = seen.map(|(_, message)| message.clone()).collect();
        Ok(seen[seen.len().saturating_sub(limit)..].to_vec())
    }
}

#[async_trait]
impl TurnLookup for MemoryStore {
    async fn known(&self, channel: &str, dedupe_id: &str) -> Result<Option<TurnRecord>> {
        let now = self.clock.now();
        Ok(self.enter("known")?.known(channel, dedupe_id, now))
    }

    async fn turn(&self, turn: &TurnId) -> Result<Option<TurnRecord>> {
        Ok(self.enter("turn")?.turn(turn).ok().map(|row| row.record.clone()))
    }

    async fn unfinished(&self) -> Result<Vec<TurnRecord>> {
        let tables = self.enter("unfinished")?;
        let mut open: Vec<_> =
            tables.turns.values().filter(|row| row.record.phase != TurnPhase::Done).collect();
        open.sort_by_key(|row| row.number);
        Ok(open.into_iter().map(|row| row.record.clone()).collect())
    }
}

/// The last message that this summary covers.
fn folded_through(message: &Message) -> Option<i64> {
    message.content.iter().find_map(|block| match block {
        Block::Folded { to, .. } => to.parse().ok(),
        _ => None,
    })
}
