//! Who owns which turns in the in-memory storage.

use std::time::Duration;

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::error::Result;
use crate::ids::{MessageId, SessionId, TurnId};
use crate::instance::Instances;
use crate::owner::{EndedElsewhere, LEASE, MAX_ENDED, Owners};
use crate::session::TurnRecord;

impl Instances for MemoryStore {}

#[async_trait]
impl Owners for MemoryStore {
    fn lease(&self) -> Duration {
        LEASE
    }

    async fn renew(&self) -> Result<()> {
        let (mut tables, now) = (self.enter("renew")?, self.clock.now());
        tables.renew(self.owner, now);
        Ok(())
    }

    async fn orphaned(&self) -> Result<Vec<SessionId>> {
        let (tables, now) = (self.enter("orphaned")?, self.clock.now());
        let mut sessions: Vec<SessionId> = Vec::new();
        for row in tables.orphans(self.owner, now) {
            if !sessions.contains(&row.record.inbound.session) {
                sessions.push(row.record.inbound.session.clone());
            }
        }
        Ok(sessions)
    }

    async fn take_over(&self, session: &SessionId) -> Result<Vec<TurnRecord>> {
        let (mut tables, now) = (self.enter("take_over")?, self.clock.now());
        let orphans = tables.orphans(self.owner, now).into_iter();
        let orphans: Vec<TurnId> = orphans
            .filter(|row| row.record.inbound.session == *session)
            .map(|row| row.record.turn.clone())
            .collect();
        if !orphans.is_empty() {
            tables.renew(self.owner, now);
        }
        orphans
            .iter()
            .map(|turn| {
                let row = tables.turn(turn)?;
                row.owner = Some(self.owner);
                Ok(row.record.clone())
            })
            .collect()
    }

    async fn ended_elsewhere(&self, after: Option<MessageId>) -> Result<EndedElsewhere> {
        let tables = self.enter("ended_elsewhere")?;
        let mut ends = Vec::new();
        let mut newest = after;
        for (session, row) in &tables.sessions {
            for message in &row.messages {
                newest = newest.max(Some(message.id));
                let Some(turn) = message.turn.as_ref().filter(|_| message.stop_reason.is_some()) else {
                    continue;
                };
                let is_theirs = tables.turns.get(turn).is_some_and(|row| row.owner != Some(self.owner));
                if is_theirs && after.is_some_and(|after| message.id > after) {
                    ends.push((message.id, session.clone(), turn.clone()));
                }
            }
        }
        ends.sort_unstable_by_key(|(id, ..)| *id);
        ends.truncate(MAX_ENDED);
        let through = if ends.len() < MAX_ENDED { newest } else { ends.last().map(|(id, ..)| *id) };
        Ok(EndedElsewhere {
            turns: ends.into_iter().map(|(_, session, turn)| (session, turn)).collect(),
            through,
        })
    }

    async fn release(&self) -> Result<()> {
        self.enter("release")?.owners.remove(&self.owner);
        Ok(())
    }
}
