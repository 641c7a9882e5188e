//! Wraps the storage while sessions are recorded, so that the recorder sees every message as it was stored, with its
//! id.
//!
//! Hooks see what happens but not what is stored of it, such as a notice after an answer or what is kept of a stopped
//! turn. The bus reports all of that but may drop events. The turn log misses nothing.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::import::{NewSession, SessionImport};
use aethon_core::message::{Inbound, Message};
use aethon_core::owner::{EndedElsewhere, Owners};
use aethon_core::session::{
    Accepted, Begin, Begun, Clear, Finish, Finished, SessionPage, SessionQuery, SessionSummary, Transcripts,
    TurnLog, TurnLookup, TurnRecord,
};
use aethon_core::version::Expected;
use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::shared::{Shared, weight};
use crate::tracker::Difference;

/// Messages per read.
const PAGE: usize = 500;

/// Maximum number of messages recorded of a conversation that began before its recording.
const MAX_READ: usize = 20_000;

/// Approximate limit of their size; it fills half a recording.
const MAX_BYTES: usize = 32 << 20;

/// How long removing a session waits for the end of its recording.
const MAX_END: Duration = Duration::from_secs(2);

/// Wraps the turn log.
pub(crate) struct WatchedTurns {
    pub(crate) turns: Arc<dyn TurnLog>,
    pub(crate) transcripts: Arc<dyn Transcripts>,
    pub(crate) shared: Arc<Shared>,
}

/// Wraps the ownership of turns.
pub(crate) struct WatchedOwners {
    pub(crate) owners: Arc<dyn Owners>,
    pub(crate) shared: Arc<Shared>,
}

/// Wraps the transcripts.
pub(crate) struct WatchedTranscripts {
    pub(crate) transcripts: Arc<dyn Transcripts>,
    pub(crate) shared: Arc<Shared>,
}

#[async_trait]
impl SessionImport for WatchedTurns {
    async fn import(&self, session: NewSession) -> Result<bool> {
        self.turns.import(session).await
    }
}

#[async_trait]
impl Owners for WatchedOwners {
    fn lease(&self) -> Duration {
        self.owners.lease()
    }

    async fn renew(&self) -> Result<()> {
        self.owners.renew().await
    }

    async fn orphaned(&self) -> Result<Vec<SessionId>> {
        self.owners.orphaned().await
    }

    async fn take_over(&self, session: &SessionId) -> Result<Vec<TurnRecord>> {
        let taken = self.owners.take_over(session).await?;
        for record in &taken {
            self.shared.accepted(&record.turn, &record.inbound);
        }
        Ok(taken)
    }

    async fn ended_elsewhere(&self, after: Option<MessageId>) -> Result<EndedElsewhere> {
        self.owners.ended_elsewhere(after).await
    }

    async fn release(&self) -> Result<()> {
        self.owners.release().await
    }
}

#[async_trait]
impl TurnLog for WatchedTurns {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> Result<Accepted> {
        let seen = begin.clone();
        let accepted = self.turns.accept(turn, inbound, begin).await?;
        if let Accepted::New(begun) = &accepted {
            self.shared.accepted(turn, inbound);
            if let (Some(begin), Some(begun)) = (seen, begun) {
                self.shared.began((&inbound.session, turn), begin, *begun, true);
            }
        }
        Ok(accepted)
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<Begun> {
        let seen = begin.clone();
        let begun = self.turns.begin(turn, begin).await?;
        if let Some(session) = self.shared.tracker.session_of(turn) {
            self.shared.began((&session, turn), seen, begun, false);
        }
        Ok(begun)
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
        let mut seen = messages.clone();
        let ids = self.turns.append(turn, messages).await?;
        number(&mut seen, turn, &ids);
        self.shared.grew(turn, seen);
        Ok(ids)
    }

    async fn finish(&self, finish: Finish) -> Result<Finished> {
        let (messages, reply) = (finish.messages.clone(), finish.reply.clone());
        let next = finish.next.clone();
        let finished = self.turns.finish(finish).await?;
        let (session, turn) = (&reply.session, &reply.turn);
        let mut messages = (*messages).clone();
        let known = if finished.beside {
            // Another program may have added them, unseen here.
            self.shared.tracker.interleaved(session, turn);
            None
        } else if finished.messages.len() == messages.len() {
            number(&mut messages, turn, &finished.messages);
            self.shared.tracker.ended(session, turn, messages)
        } else {
            // The messages wait for their place in the transcript, and nothing reports when they get it.
            self.shared.tracker.fall_behind(session);
            None
        };
        let difference = match known {
            Some(difference) => Some(difference),
            None => self.catch_up(session, turn).await,
        };
        if let Some(difference) = difference {
            self.shared.snapshot(&reply, difference);
        }
        if let (Some((turn, begin)), Some(begun)) = (next, finished.next) {
            self.shared.began((session, &turn), begin, begun, false);
        }
        Ok(finished)
    }

    async fn window(&self, session: &SessionId, limit: usize) -> Result<Vec<Message>> {
        self.turns.window(session, limit).await
    }
}

#[async_trait]
impl TurnLookup for WatchedTurns {
    async fn known(&self, channel: &str, dedupe_id: &str) -> Result<Option<TurnRecord>> {
        self.turns.known(channel, dedupe_id).await
    }

    async fn turn(&self, turn: &TurnId) -> Result<Option<TurnRecord>> {
        self.turns.turn(turn).await
    }

    async fn unfinished(&self) -> Result<Vec<TurnRecord>> {
        self.turns.unfinished().await
    }
}

impl WatchedTurns {
    /// Returns what changed up to the end of a turn, according to the transcript; `None` if the turn has no messages
    /// there (any more).
    async fn catch_up(&self, session: &SessionId, turn: &TurnId) -> Option<Difference> {
        let (mut transcript, mut has_end): (Vec<Message>, bool) = (Vec::new(), false);
        let (mut before, mut bytes) = (None, 0);
        loop {
            let page = self.transcripts.messages(session, before, PAGE).await;
            let page = page.inspect_err(|error| {
                tracing::warn!(%error, %session, "a conversation could not be read for its recording");
            });
            let mut page = page.ok()?;
            let is_last = page.is_empty() || transcript.len() + page.len() > MAX_READ || bytes > MAX_BYTES;
            before = page.first().map(|message| message.id);
            if !has_end {
                let end = page.iter().rposition(|message| message.turn.as_ref() == Some(turn));
                page.truncate(end.map_or(0, |end| end + 1));
                has_end = end.is_some();
            }
            bytes += page.iter().map(weight).sum::<usize>();
            transcript.splice(0..0, page);
            match has_end {
                false if is_last => return None,
                false => {}
                true => match self.shared.tracker.catch_up(session, &mut transcript, is_last) {
                    None => {}
                    difference => return difference,
                },
            }
        }
    }
}

#[async_trait]
impl Transcripts for WatchedTranscripts {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        self.transcripts.sessions(query).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        self.transcripts.session(id).await
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.transcripts.messages(id, before, limit).await
    }

    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>> {
        self.transcripts.pending(id).await
    }

    async fn rename(&self, id: &SessionId, title: &str, expected: Expected) -> Result<bool> {
        self.transcripts.rename(id, title, expected).await
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        let reason = if how.is_delete() { "session_deleted" } else { "session_reset" };
        let existed = self.transcripts.clear(id, how).await?;
        let (done, ended) = oneshot::channel();
        self.shared.end(id, reason, Some(done));
        // Whoever looks for the recording next should find it, but a slow disk must not block anybody.
        if timeout(MAX_END, ended).await.is_err() {
            tracing::warn!(session = %id, "the recording of a session that was removed is not finished yet");
        }
        Ok(existed)
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>> {
        let mut seen = message.clone();
        let posted = self.transcripts.post(id, key, message).await?;
        if let Some(number) = posted {
            seen.id = number;
            self.shared.posted(id, seen);
        }
        Ok(posted)
    }
}

/// Sets the ids under which messages were stored.
fn number(messages: &mut [Message], turn: &TurnId, ids: &[MessageId]) {
    for (message, id) in messages.iter_mut().zip(ids) {
        message.id = *id;
        message.turn.get_or_insert_with(|| turn.clone());
    }
}
