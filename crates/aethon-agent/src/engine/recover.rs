//! Recovers turns that were accepted and never finished, and whose program is gone: after a crash, or when a terminal
//! was killed.
//!
//! A turn that was acknowledged under its sender's own id resumes, because its sender relies on the acknowledgement: its stored messages
//! stay, and calls that were cut off get results that report it. One without an id is closed, because its sender saw
//! the connection break; so is one that began too long ago, whose effects are no longer expected, or that was resumed
//! so often that it may be the cause of the crashes. One that only waited has done nothing that could be repeated, so
//! it begins after any pause.
//!
//! Turns that had begun come before turns that waited, regardless of which was accepted first: the message of a begun
//! turn is in the transcript already, and nothing may come between it and its answer.

use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::hook::TurnContext;
use aethon_core::message::{Block, EndReason, Failure, Intent, Message, Reply, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::session::{Begin, TurnPhase, TurnRecord};
use aethon_core::surface::{Surface, TurnEvent};
use jiff::SignedDuration;

use super::calls::RESTARTED;
use super::ends::TurnEnds;
use super::leases::Watchers;
use crate::admission::admit;
use crate::dispatcher::{Job, Stage, TurnHandle};
use crate::window::{ContextWindows, missing_results};
use aethon_core::patience::{retry_until_stored, until_read};
use aethon_core::storage_log::log_storage;

const CLOSING: &str = "an interrupted turn could not be closed; trying again";
const NOTICE: &str = "The assistant was interrupted before it could answer; send the message again.";

/// Decides what becomes of interrupted turns, and closes those that do not go on.
pub(super) struct Recovery {
    ends: Arc<TurnEnds>,
    windows: Arc<ContextWindows>,
}

impl Recovery {
    pub(super) fn new(ends: Arc<TurnEnds>, windows: Arc<ContextWindows>) -> Self {
        Self { ends, windows }
    }

    /// Makes turns that were taken over ready to run, and closes those that are not worth it. What would be put into the
    /// transcript behind others is closed when it comes up; `others_wait` says that there may be such others already.
    pub(super) async fn requeue(
        &self,
        mut records: Vec<TurnRecord>,
        others_wait: bool,
        watchers: &Watchers,
    ) -> Vec<(TurnHandle, Job)> {
        let mut jobs = Vec::new();
        records.sort_by_key(|record| record.phase == TurnPhase::Queued);
        for record in records {
            let closing = match self.is_worth_resuming(&record) {
                true => self.pair_of(&record, stage_of(&record), watchers(&record)).await.map(Some),
                false => Ok(None),
            };
            match closing {
                Ok(Some(pair)) => {
                    jobs.push(pair);
                    continue;
                }
                Ok(None) => {}
                Err(error) => log_storage("an interrupted turn could not be taken up", &error),
            }
            let is_kept = record.phase == TurnPhase::Queued && record.inbound.intent == Intent::Say;
            let closed = if is_kept && (others_wait || !jobs.is_empty()) {
                Err(Error::elsewhere("others come before it"))
            } else {
                self.close_now(&record, watchers).await
            };
            let closed = match closed {
                Err(error) if error.is_elsewhere() => {
                    self.pair_of(&record, Stage::GivenUp, watchers(&record)).await.map(|pair| jobs.push(pair))
                }
                closed => closed,
            };
            if let Err(error) = closed {
                log_storage("an interrupted turn could not be closed", &error);
            }
        }
        jobs
    }

    /// Returns a stored turn as a job, and the handle by which others see it.
    pub(super) async fn pair_of(
        &self,
        record: &TurnRecord,
        stage: Stage,
        surface: Arc<dyn Surface>,
    ) -> Result<(TurnHandle, Job)> {
        let message = admit(&*self.ends.services.turns, &record.inbound, record.accepted_at).await?;
        let (mut job, live) = Job::pair(record.turn.clone(), record.inbound.clone(), message, surface);
        job.stage = stage;
        Ok((live, job))
    }

    fn is_worth_resuming(&self, record: &TurnRecord) -> bool {
        let has_agent = self.ends.agents.current().get(&record.inbound.agent).is_some();
        let only_waited = record.phase == TurnPhase::Queued && record.attempts == 0;
        has_agent && record.inbound.dedupe.is_some() && (only_waited || self.may_repeat(record))
    }

    /// Returns whether a turn that had begun may resume: its actions may then be repeated.
    fn may_repeat(&self, record: &TurnRecord) -> bool {
        let age = self.ends.services.clock.now().duration_since(record.accepted_at);
        let limit = SignedDuration::try_from(self.ends.options.resume.within).unwrap_or(SignedDuration::MAX);
        age < limit && record.attempts < self.ends.options.resume.attempts
    }

    /// Closes a turn that waited, now that those before it are done. It comes back if others still are not.
    pub(super) async fn close_in_order(&self, job: Job) -> Option<Job> {
        let context = TurnContext::of(job.turn.clone(), &job.inbound);
        let (turn, inbound) = (job.turn.clone(), job.inbound.clone());
        let record = TurnRecord::new(turn, inbound, TurnPhase::Queued, job.message.created_at);
        match self.close(&record).await {
            Ok((reply, delivers)) => self.ends.announce(job, &context, reply, delivers).await,
            Err(error) if error.is_elsewhere() => return Some(job),
            Err(error) => log_storage("an interrupted turn could not be closed", &error),
        }
        None
    }

    /// Closes a turn that has no waiting caller here, and notifies its watchers.
    async fn close_now(&self, record: &TurnRecord, watchers: &Watchers) -> Result<()> {
        let (reply, delivers) = self.close(record).await?;
        watchers(record).emit(&record.turn, TurnEvent::Done(reply.clone()));
        if delivers {
            self.ends.services.wake.ring();
        }
        let context = TurnContext::of(record.turn.clone(), &record.inbound);
        self.ends.services.hooks.after_turn(&context, &reply).await;
        Ok(())
    }

    /// Stores a turn as interrupted, its history well formed. Returns its outcome, and whether that goes somewhere else.
    async fn close(&self, record: &TurnRecord) -> Result<(Arc<Reply>, bool)> {
        let (log, now) = (&self.ends.services.turns, self.ends.services.clock.now());
        let session = &record.inbound.session;
        let mut messages = Vec::new();
        let mut in_transcript = true;
        // A cached window of this session may no longer match the transcript, whichever way this ends.
        self.windows.forget(session);
        if record.phase == TurnPhase::Queued {
            // The question is kept, unless it is in the transcript already or would take something out of it.
            in_transcript = matches!(record.inbound.intent, Intent::Say);
            if in_transcript {
                let (message, _) = admit(&**log, &record.inbound, record.accepted_at).await?;
                let begin = || log.begin(&record.turn, Begin { message: message.clone(), replaces: None });
                retry_until_stored(CLOSING, begin).await?;
            }
        } else {
            let window = || log.window(session, self.ends.options.window_messages);
            let stored = until_read(CLOSING, &self.ends.services.health, window).await?;
            let own = stored.iter().filter(|message| message.turn.as_ref() == Some(&record.turn));
            let unanswered = self.ends.services.open_approvals.left_by(&record.turn).await;
            messages.extend(missing_results(own, |call| unanswered.why(call, RESTARTED), now));
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
            model: self.ends.agents.current().get_or_main(&record.inbound.agent).model(),
            usage: Usage::default(),
            failure: Some(Failure::new(EndReason::Interrupted, NOTICE)),
        };
        let deliveries = self.ends.deliveries(&record.inbound, &reply, std::iter::empty());
        let delivers = !deliveries.is_empty();
        let (messages, reply) = (Arc::new(messages), Arc::new(reply));
        self.ends.store(&messages, &reply, deliveries, None).await?;
        tracing::info!(%session, turn = %record.turn, "an interrupted turn was closed");
        Ok((reply, delivers))
    }
}

/// Returns the stage of a stored turn.
pub(super) fn stage_of(record: &TurnRecord) -> Stage {
    if record.phase == TurnPhase::Queued { Stage::Waiting } else { Stage::LeftBehind }
}
