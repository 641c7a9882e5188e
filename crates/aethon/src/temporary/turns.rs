//! The engine's side: each turn goes to the storage of its session.

use aethon_core::error::Result;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::import::{NewSession, SessionImport};
use aethon_core::message::{Inbound, Message};
use aethon_core::session::{Accepted, Begin, Begun, Finish, Finished, TurnLog, TurnLookup, TurnRecord};
use async_trait::async_trait;

use super::storage::Temporary;

impl Temporary {
    fn log_of(&self, turn: &TurnId) -> &dyn TurnLog {
        if self.has(turn) { &self.memory } else { &*self.lasting.turns }
    }

    fn log_in(&self, session: &SessionId) -> &dyn TurnLog {
        if session.is_temporary() { &self.memory } else { &*self.lasting.turns }
    }
}

#[async_trait]
impl TurnLog for Temporary {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> Result<Accepted> {
        if inbound.session.is_temporary() {
            self.check_room()?;
        }
        self.log_in(&inbound.session).accept(turn, inbound, begin).await
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<Begun> {
        self.log_of(turn).begin(turn, begin).await
    }

    async fn is_ours(&self, turn: &TurnId) -> Result<bool> {
        self.log_of(turn).is_ours(turn).await
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
        self.log_of(turn).append(turn, messages).await
    }

    async fn finish(&self, mut finish: Finish) -> Result<Finished> {
        if !finish.reply.session.is_temporary() {
            return self.lasting.turns.finish(finish).await;
        }
        // What the turn sends to others is kept until they have it, as anything that is sent.
        let deliveries = std::mem::take(&mut finish.deliveries);
        for delivery in deliveries {
            self.lasting.outbox.enqueue(&finish.reply.session, &finish.reply.turn, delivery).await?;
        }
        self.memory.finish(finish).await
    }

    async fn window(&self, session: &SessionId, limit: usize) -> Result<Vec<Message>> {
        self.log_in(session).window(session, limit).await
    }
}

#[async_trait]
impl TurnLookup for Temporary {
    async fn known(&self, channel: &str, dedupe_id: &str) -> Result<Option<TurnRecord>> {
        match self.memory.known(channel, dedupe_id).await? {
            Some(known) => Ok(Some(known)),
            None => self.lasting.turns.known(channel, dedupe_id).await,
        }
    }

    async fn turn(&self, turn: &TurnId) -> Result<Option<TurnRecord>> {
        self.log_of(turn).turn(turn).await
    }

    async fn unfinished(&self) -> Result<Vec<TurnRecord>> {
        let mut all = self.lasting.turns.unfinished().await?;
        let mut here = self.memory.unfinished().await?;
        if !here.is_empty() {
            all.append(&mut here);
            all.sort_by_key(|record| record.accepted_at);
        }
        Ok(all)
    }
}

#[async_trait]
impl SessionImport for Temporary {
    async fn import(&self, session: NewSession) -> Result<bool> {
        self.log_in(&session.id).import(session).await
    }
}
