//! After a crash: what was accepted and never finished.
//!
//! A turn that was acknowledged under an id goes on, because its sender will not send it again: its stored messages stay,
//! and calls that were cut off get results that say so. One without an id is closed, because its sender saw the connection
//! break; so is one that is too old to be of use, or that has begun so often that it may be what crashes the program.
//!
//! What had begun comes before what waited, whichever was accepted first: its message is in the transcript already, and
//! nothing may come between that and its answer.

use std::sync::Arc;

use aethon_core::assistant::PendingReply;
use aethon_core::error::Result;
use aethon_core::hook::TurnContext;
use aethon_core::message::{Block, EndReason, Failure, Intent, Message, Reply, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::session::{Begin, TurnPhase, TurnRecord};
use aethon_core::surface::Surface;
use jiff::SignedDuration;

use super::shared::Shared;
use crate::admission::admit;
use crate::dispatcher::{Job, Stage};
use crate::patience::until_stored;
use crate::storage_log::log_storage;
use crate::window::missing_results;

const CUT_OFF: &str = "interrupted by a restart of the assistant; it may or may not have run";
const CLOSING: &str = "an interrupted turn could not be closed; trying again";
const NOTICE: &str = "The assistant was interrupted before it could answer; send the message again.";

impl Shared {
    /// Looks after all of them. Returns how many go on.
    pub(super) async fn recover(
        self: &Arc<Self>,
        surface: &(dyn Fn(&TurnRecord) -> Arc<dyn Surface> + Send + Sync),
    ) -> Result<usize> {
        let mut going_on = 0;
        let mut records = self.services.log.unfinished().await?;
        records.sort_by_key(|record| record.phase == TurnPhase::Queued);
        for record in records {
            if self.is_worth_resuming(&record) {
                match self.take_up(record.clone(), surface(&record)).await {
                    Ok(_) => {
                        going_on += 1;
                        continue;
                    }
                    Err(error) => log_storage("an interrupted turn could not be taken up", &error),
                }
            }
            let is_behind = record.phase == TurnPhase::Queued && self.queues.is_busy(&record.inbound.session);
            // What would not be put into the transcript can be closed beside those that write there.
            let closed = if is_behind && record.inbound.intent == Intent::Say {
                let surface = surface(&record);
                self.put_in(record, Stage::GivenUp, surface).await.map(drop)
            } else if self.services.health.check().is_err() {
                // A storage that fails must not keep the program from starting.
                let shared = self.clone();
                self.tasks.spawn(async move {
                    if let Err(error) = shared.close_now(&record).await {
                        log_storage("an interrupted turn could not be closed", &error);
                    }
                });
                continue;
            } else {
                self.close_now(&record).await
            };
            if let Err(error) = closed {
                log_storage("an interrupted turn could not be closed", &error);
            }
        }
        if going_on > 0 {
            tracing::info!(turns = going_on, "turns that were interrupted go on");
        }
        Ok(going_on)
    }

    /// Puts a stored turn back into its queue.
    pub(super) async fn take_up(
        self: &Arc<Self>,
        record: TurnRecord,
        surface: Arc<dyn Surface>,
    ) -> Result<PendingReply> {
        let stage = if record.phase == TurnPhase::Queued { Stage::Waiting } else { Stage::LeftBehind };
        self.put_in(record, stage, surface).await
    }

    async fn put_in(
        self: &Arc<Self>,
        record: TurnRecord,
        stage: Stage,
        surface: Arc<dyn Surface>,
    ) -> Result<PendingReply> {
        let message = admit(&*self.services.log, &record.inbound, record.accepted_at).await?;
        let (session, turn) = (record.inbound.session.clone(), record.turn.clone());
        let (mut job, live) = Job::pair(record.turn, record.inbound, message, surface);
        job.stage = stage;
        let reply = live.reply.clone();
        if let Some((reply, _)) = self.queues.find(&session, &turn) {
            return Ok(reply);
        }
        if let Some(job) = self.queues.take_up(live, job) {
            let shared = self.clone();
            self.tasks.spawn(async move { shared.run_queue(job).await });
        }
        Ok(reply)
    }

    fn is_worth_resuming(&self, record: &TurnRecord) -> bool {
        let age = self.services.clock.now().duration_since(record.accepted_at);
        let limit = SignedDuration::try_from(self.options.resume.within).unwrap_or(SignedDuration::MAX);
        let has_agent = self.agents.get(&record.inbound.agent).is_some();
        has_agent
            && record.inbound.dedupe.is_some()
            && age < limit
            && record.attempts < self.options.resume.attempts
    }

    /// Closes a turn that waited, now that those before it are done.
    pub(super) async fn close_in_order(&self, job: Job) {
        let context = TurnContext::of(job.turn.clone(), &job.inbound);
        let record = TurnRecord {
            turn: job.turn.clone(),
            inbound: job.inbound.clone(),
            phase: TurnPhase::Queued,
            accepted_at: job.message.created_at,
            attempts: 0,
            reply: None,
        };
        match self.close(&record).await {
            Ok((reply, delivers)) => self.announce(job, &context, reply, delivers).await,
            Err(error) => log_storage("an interrupted turn could not be closed", &error),
        }
    }

    /// Closes a turn of which nobody can know yet.
    async fn close_now(&self, record: &TurnRecord) -> Result<()> {
        let (reply, delivers) = self.close(record).await?;
        if delivers {
            self.services.wake.ring();
        }
        let context = TurnContext::of(record.turn.clone(), &record.inbound);
        self.services.hooks.after_turn(&context, &reply).await;
        Ok(())
    }

    /// Stores a turn as interrupted, its history well formed. Returns its outcome, and whether that goes somewhere else.
    async fn close(&self, record: &TurnRecord) -> Result<(Reply, bool)> {
        let (log, now) = (&self.services.log, self.services.clock.now());
        let session = &record.inbound.session;
        let mut messages = Vec::new();
        let mut in_transcript = true;
        // Whatever becomes of it, the transcript is not what a window of before says.
        self.windows.forget(session);
        if record.phase == TurnPhase::Queued {
            // What was asked is kept, unless it is in the transcript already or would take something out of it.
            in_transcript = matches!(record.inbound.intent, Intent::Say);
            if in_transcript {
                let (message, _) = admit(&**log, &record.inbound, record.accepted_at).await?;
                let begin = || log.begin(&record.turn, Begin { message: message.clone(), replaces: None });
                until_stored(CLOSING, begin).await?;
            }
        } else {
            let window = || log.window(session, self.options.window_messages);
            let stored = until_stored(CLOSING, window).await?;
            let own = stored.iter().filter(|message| message.turn.as_ref() == Some(&record.turn));
            messages.extend(missing_results(own, CUT_OFF, now));
        }
        if in_transcript {
            let mut last = Message::new(
                Role::Assistant,
                vec![Block::notice(EndReason::Interrupted.as_str(), NOTICE)],
                now,
            );
            last.stop_reason = Some(TurnEnd::Error);
            messages.push(last);
        }
        for message in &mut messages {
            message.turn = Some(record.turn.clone());
        }
        let reply = Reply {
            turn: record.turn.clone(),
            session: session.clone(),
            text: NOTICE.into(),
            end: TurnEnd::Error,
            model: self.agents.get_or_main(&record.inbound.agent).model(),
            usage: Usage::default(),
            failure: Some(Failure::new(EndReason::Interrupted, NOTICE)),
        };
        let deliveries = self.deliveries(&record.inbound, &reply);
        let delivers = !deliveries.is_empty();
        self.store(&messages, &reply, deliveries, None).await?;
        tracing::info!(%session, turn = %record.turn, "an interrupted turn was closed");
        Ok((reply, delivers))
    }
}
