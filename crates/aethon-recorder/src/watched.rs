//! Wraps the storage while sessions are recorded, so that the recorder sees every message as it was stored, with its
//! id.
//!
//! Hooks see events but not stored messages, such as a notice after an answer or the remainder of a stopped
//! turn. The bus reports all of that but may drop events. So the end of a turn, which the turn log never misses, is when
//! the transcript is read: backwards, as far as the last snapshot goes.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::import::{NewSession, SessionImport};
use aethon_core::instance::{Instance, Instances};
use aethon_core::message::{Inbound, Message};
use aethon_core::owner::{EndedElsewhere, Owners};
use aethon_core::peers::Peers;
use aethon_core::session::{
    Accepted, Begin, Begun, BinPage, BinQuery, Binned, Clear, Discard, Finish, Finished, SessionKeeping,
    SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnLog, TurnLookup, TurnRecord,
};
use aethon_core::version::Expected;
use async_trait::async_trait;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::event::{folded, turn_started};
use crate::shared::{Shared, weight};

/// Messages of the first read of a transcript, which mostly suffices; each further one reads twice as many.
const FIRST_PAGE: usize = 8;

/// Maximum number of messages per read.
const MAX_PAGE: usize = 512;

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
impl Instances for WatchedOwners {
    fn is_shared(&self) -> bool {
        self.owners.is_shared()
    }

    async fn instances(&self) -> Result<Vec<Instance>> {
        self.owners.instances().await
    }

    async fn hold(&self, roles: &[String]) -> Result<Vec<String>> {
        self.owners.hold(roles).await
    }

    fn peers(&self) -> Option<Arc<dyn Peers>> {
        self.owners.peers()
    }

    async fn let_go(&self) -> Result<()> {
        self.owners.let_go().await
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
        let started = begin.as_ref().map(|begin| turn_started(&self.shared.redactor.get(), begin));
        let accepted = self.turns.accept(turn, inbound, begin).await?;
        if let Accepted::New(begun) = &accepted {
            self.shared.accepted(turn, inbound);
            if let (Some(started), Some(_)) = (started, begun) {
                self.shared.started(&inbound.session, turn, started);
            }
        }
        Ok(accepted)
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<Begun> {
        let started = turn_started(&self.shared.redactor.get(), &begin);
        let begun = self.turns.begin(turn, begin).await?;
        if let Some(session) = self.shared.tracker.session_of(turn) {
            self.shared.started(&session, turn, started);
        }
        Ok(begun)
    }

    async fn is_ours(&self, turn: &TurnId) -> Result<bool> {
        self.turns.is_ours(turn).await
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
        let folded = folded(&messages);
        let ids = self.turns.append(turn, messages).await?;
        self.shared.folded(turn, folded);
        Ok(ids)
    }

    async fn finish(&self, finish: Finish) -> Result<Finished> {
        let folded = folded(&finish.messages);
        let (reply, next) = (finish.reply.clone(), finish.next.clone());
        let finished = self.turns.finish(finish).await?;
        let (session, turn) = (&reply.session, &reply.turn);
        self.shared.folded(turn, folded);
        self.shared.tracker.ended(turn);
        // The next turn is recorded after this one, and appends only behind it.
        if let Some(transcript) = self.read_back(session, turn).await {
            self.shared.snapshot(&reply, transcript);
        }
        if let (Some((turn, begin)), Some(_)) = (next, &finished.next) {
            self.shared.started(session, &turn, turn_started(&self.shared.redactor.get(), &begin));
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
    /// Returns the newest messages of the transcript up to the end of a turn, oldest first, as far back as the last snapshot
    /// goes; `None` if the turn has no messages there (any more). What follows the turn belongs to the next one.
    async fn read_back(&self, session: &SessionId, turn: &TurnId) -> Option<Vec<Message>> {
        let (mut transcript, mut before): (Vec<Message>, _) = (Vec::new(), None);
        let (mut limit, mut bytes) = (FIRST_PAGE, 0);
        loop {
            let page = self.transcripts.messages(session, before, limit).await;
            let page = page.inspect_err(|error| {
                tracing::warn!(%error, %session, "a conversation could not be read for its recording");
            });
            let page = page.ok()?;
            let is_last = page.is_empty() || transcript.len() + page.len() > MAX_READ || bytes > MAX_BYTES;
            before = page.first().map(|message| message.id);
            bytes += page.iter().map(weight).sum::<usize>();
            let is_met = self.shared.tracker.knows_any(session, &page);
            transcript.splice(0..0, page);
            if is_last || is_met {
                break;
            }
            limit = (limit * 2).min(MAX_PAGE);
        }
        let end = transcript.iter().rposition(|message| message.turn.as_ref() == Some(turn))?;
        transcript.truncate(end + 1);
        Some(transcript)
    }
}

#[async_trait]
impl SessionKeeping for WatchedTranscripts {
    async fn mark_read(&self, id: &SessionId) -> Result<bool> {
        self.transcripts.mark_read(id).await
    }

    async fn suggest_title(&self, id: &SessionId, title: &str) -> Result<bool> {
        self.transcripts.suggest_title(id, title).await
    }

    async fn binned(&self, query: BinQuery) -> Result<BinPage> {
        self.transcripts.binned(query).await
    }

    async fn restore(&self, which: Binned) -> Result<Option<SessionId>> {
        self.transcripts.restore(which).await
    }

    async fn discard(&self, which: Discard) -> Result<u64> {
        self.transcripts.discard(which).await
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

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool> {
        self.transcripts.patch(id, patch, expected).await
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        let reason = if how.is_delete() { "session_deleted" } else { "session_reset" };
        let existed = self.transcripts.clear(id, how).await?;
        let (done, ended) = oneshot::channel();
        self.shared.end(id, reason, Some(done));
        // A caller that looks for the recording next should find it, but must not wait for a slow disk.
        if timeout(MAX_END, ended).await.is_err() {
            tracing::warn!(session = %id, "the recording of a session that was removed is not finished yet");
        }
        Ok(existed)
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>> {
        let text = message.text();
        let posted = self.transcripts.post(id, key, message).await?;
        if let Some(message) = posted {
            self.shared.posted(id, message, text);
        }
        Ok(posted)
    }
}
