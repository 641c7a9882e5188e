//! Ends a turn: composes the reply that the person reads, stores it, and notifies the watchers.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::channel::NewDelivery;
use aethon_core::error::{Error, Result};
use aethon_core::event::{Event, SessionChange};
use aethon_core::hook::TurnContext;
use aethon_core::ids::TurnId;
use aethon_core::message::{
    Block, EndReason, Failure, Inbound, Intent, Message, Outside, Reply, Role, TurnEnd,
};
use aethon_core::model::{ModelError, Usage};
use aethon_core::session::{Begin, Finish, Finished};
use aethon_core::surface::TurnEvent;

use super::shared::Shared;
use crate::control::{Cause, Interrupt};
use crate::dispatcher::Job;
use crate::meter::in_words;
use crate::outbox::expiry;
use crate::patience::{retry_until_stored, until_read};
use crate::storage_log::log_storage;

/// How a turn ends, and why.
#[derive(Debug, Clone)]
pub(super) struct TurnOutcome {
    pub(super) end: TurnEnd,
    /// The reason, with the sentence that the person reads.
    pub(super) notice: Option<(EndReason, String)>,
    pub(super) retry_after: Option<u64>,
}

/// The result of a part of a turn. `Err` ends the turn with this outcome, which need not be a failure.
pub(super) type OrEnd<T = ()> = std::result::Result<T, TurnOutcome>;

impl From<Interrupt> for TurnOutcome {
    fn from(interrupt: Interrupt) -> Self {
        Self::interrupted(interrupt)
    }
}

impl TurnOutcome {
    /// Returns the outcome of a complete answer.
    pub(super) fn done() -> Self {
        Self { end: TurnEnd::End, notice: None, retry_after: None }
    }

    /// Returns the outcome of a complete answer with a notice.
    pub(super) fn noted(reason: EndReason, sentence: &str) -> Self {
        Self::of(TurnEnd::End, reason, sentence)
    }

    /// Returns the outcome of an answer that became too long.
    pub(super) fn too_long() -> Self {
        Self::noted(
            EndReason::Length,
            "The answer ends here because it reached the model's output limit (`model.max_tokens`).",
        )
    }

    /// Returns the outcome of an answer for whose rest the window has no room. The next turn compacts the conversation.
    pub(super) fn window_full() -> Self {
        Self::noted(
            EndReason::Length,
            "The answer ends here because the conversation fills the model's context window; older messages are \
             summarised before the next answer.",
        )
    }

    /// Returns the outcome of a stopped turn.
    pub(super) fn stopped(cause: Cause) -> Self {
        match cause {
            Cause::Person => Self::of(TurnEnd::Stopped, EndReason::Stopped, "Stopped."),
            Cause::Shutdown => Self::of(
                TurnEnd::Stopped,
                EndReason::Shutdown,
                "Stopped, because the assistant was shut down.",
            ),
        }
    }

    /// Returns the outcome of a turn that a person stopped before it began.
    fn withdrawn() -> Self {
        Self::of(TurnEnd::Stopped, EndReason::Withdrawn, "Stopped before it was answered.")
    }

    /// Returns the outcome of a turn that reached a limit.
    pub(super) fn limit(reason: EndReason, sentence: impl Into<String>) -> Self {
        Self::of(TurnEnd::Limit, reason, sentence)
    }

    /// Returns the outcome of a failed turn.
    pub(super) fn failed(failure: Failure) -> Self {
        let end = if failure.code.is_budget() { TurnEnd::Budget } else { TurnEnd::Error };
        let retry_after = failure.retry_after;
        Self { end, notice: Some((failure.code, failure.message)), retry_after }
    }

    /// Returns the outcome of an answer that does not fit the schema that was asked for.
    pub(super) fn misfit(fault: &str) -> Self {
        let sentence = format!(
            "The answer does not fit the JSON Schema, also after the model was asked to correct it: {fault}. Ask again, \
             or choose another model (`model.model_id`)."
        );
        Self::of(TurnEnd::Error, EndReason::SchemaMismatch, sentence)
    }

    /// Returns the outcome of a turn that failed by a fault of this program.
    pub(super) fn fault(reason: EndReason, sentence: &str) -> Self {
        Self::of(TurnEnd::Error, reason, sentence)
    }

    /// Returns the outcome of an interrupted turn.
    pub(super) fn interrupted(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::Stopped(cause) => Self::stopped(cause),
            Interrupt::TimedOut(timeout) => Self::limit(
                EndReason::TurnTimeout,
                format!(
                    "Stopped: this took longer than {} seconds (`agent.turn_timeout_seconds`).",
                    timeout.as_secs()
                ),
            ),
        }
    }

    fn of(end: TurnEnd, reason: EndReason, sentence: impl Into<String>) -> Self {
        Self { end, notice: Some((reason, sentence.into())), retry_after: None }
    }

    /// Returns whether it ended because the program is shutting down.
    pub(super) fn is_shutdown(&self) -> bool {
        matches!(self.notice, Some((EndReason::Shutdown, _)))
    }

    /// Converts it into the form that hooks get.
    pub(super) fn failure(self) -> Failure {
        let (code, message) = self.notice.unwrap_or((EndReason::Internal, String::new()));
        Failure::new(code, message).with_retry_after(self.retry_after)
    }

    /// Records the outcome in the turn's last message.
    pub(super) fn seal(&self, message: &mut Message) {
        if let Some((reason, sentence)) = &self.notice {
            message.content.push(Block::notice(reason.as_str(), sentence));
        }
        message.stop_reason = Some(self.end);
    }

    /// Builds the reply of the turn.
    pub(super) fn reply(&self, job: &Job, said: String, model: String, usage: Usage) -> Reply {
        let mut text = said;
        if let Some((_, sentence)) = &self.notice {
            // Exactly this much: growing by doubling would copy a long text into twice its size.
            text.reserve_exact(2 + sentence.len());
            if !text.trim().is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(sentence);
        }
        let failure = match (self.end, &self.notice) {
            (TurnEnd::End | TurnEnd::Stopped, _) | (_, None) => None,
            (_, Some((reason, sentence))) => {
                Some(Failure::new(reason.clone(), sentence).with_retry_after(self.retry_after))
            }
        };
        let (turn, session) = (job.turn.clone(), job.session().clone());
        Reply { turn, session, text, end: self.end, model, usage, failure }
    }
}

impl Shared {
    /// Stores an outcome together with the beginning of the next turn, however long that takes. A second attempt
    /// leaves that beginning out, because the storage may have rejected it.
    pub(super) async fn store(
        &self,
        messages: &Arc<Vec<Message>>,
        reply: &Arc<Reply>,
        deliveries: Vec<NewDelivery>,
        mut next: Option<(TurnId, Begin)>,
    ) -> Result<Finished> {
        let finish = || {
            let (messages, reply) = (Arc::clone(messages), Arc::clone(reply));
            let deliveries = deliveries.clone();
            self.services.log.finish(Finish { messages, reply, deliveries, next: next.take() })
        };
        retry_until_stored("the outcome of a turn could not be stored; trying again", finish).await
    }

    /// Returns the other destinations of a reply; none if a person stopped the turn. `seen` is the content that the
    /// model saw; it decides whether the reply counts as made from outside content.
    pub(super) fn deliveries<'m>(
        &self,
        inbound: &Inbound,
        reply: &Reply,
        seen: impl Iterator<Item = &'m Message>,
    ) -> Vec<NewDelivery> {
        let wanted = inbound.deliver_to.as_ref().filter(|_| reply.end != TurnEnd::Stopped);
        let expires_at = expiry(self.services.clock.now(), self.options.delivery_lifetime);
        let delivery = wanted.map(|to| {
            NewDelivery::new(&to.channel, &reply.text, expires_at)
                .with_recipient(to.recipient.clone())
                .with_outside(outside(inbound, seen))
                .as_reply(true)
        });
        delivery.into_iter().collect()
    }

    /// Announces that a turn has ended: once, and after it was stored.
    pub(super) async fn announce(&self, job: Job, context: &TurnContext, reply: Arc<Reply>, delivers: bool) {
        self.announce_end(&job, &reply, delivers);
        drop(job);
        self.services.hooks.after_turn(context, &reply).await;
    }

    /// Announces the end to everyone but the hooks.
    pub(super) fn announce_end(&self, job: &Job, reply: &Arc<Reply>, delivers: bool) {
        if delivers {
            self.services.wake.ring();
        }
        let (session, turn, end) = (&reply.session, &reply.turn, reply.end);
        tracing::debug!(%session, %turn, end = end.as_str(), "a turn has ended");
        job.surface.emit(turn, TurnEvent::Done(reply.clone()));
        self.services.bus.publish(|| Event::TurnEnded { session: session.clone(), turn: turn.clone(), end });
        self.measure(job, reply);
        self.publish_session(session, SessionChange::Updated);
        job.reply.send_replace(Some(reply.clone()));
    }

    /// Ends a turn that was stopped before it began. The question stays in the transcript; the storage puts it in its
    /// place once the turns before it have ended. An edit then replaces nothing.
    pub(super) async fn end_unbegun(&self, job: Job) {
        let outcome = TurnOutcome::withdrawn();
        let mut messages = Vec::new();
        if !matches!(job.inbound.intent, Intent::Retry { .. }) {
            let mut last = Message::new(Role::Assistant, Vec::new(), self.services.clock.now());
            outcome.seal(&mut last);
            messages.extend([job.message.clone(), last]);
        }
        for message in &mut messages {
            message.turn = Some(job.turn.clone());
        }
        self.end_unasked(job, &outcome, messages).await;
    }

    /// Ends a turn whose message is in no transcript, because its session was removed while it waited.
    pub(super) async fn end_removed(&self, job: Job) {
        let sentence = if job.replaces.is_some() {
            "What this was to replace is not in the conversation any more, so nothing was changed. Send it as a new \
             message."
        } else {
            "The conversation was removed before this could be answered. Send it again to begin a new one."
        };
        self.end_unasked(job, &TurnOutcome::fault(EndReason::Gone, sentence), Vec::new()).await;
    }

    /// Ends a turn whose agent no longer exists.
    pub(super) async fn end_without_agent(&self, job: Job) {
        let sentence =
            format!("The agent `{}` that was to answer this is not set up any more.", job.inbound.agent);
        self.end_unasked(job, &TurnOutcome::fault(EndReason::Gone, &sentence), Vec::new()).await;
    }

    /// Ends a turn that another program has ended, with the outcome which that program stored. If it has not ended,
    /// nothing is announced.
    pub(super) async fn end_with_stored(&self, job: Job) {
        let read = || self.services.log.turn(&job.turn);
        let unread = "the outcome of a turn could not be read; trying again";
        let reply = match until_read(unread, &self.services.health, read).await {
            Ok(record) => record.and_then(|record| record.reply),
            Err(error) => return log_storage("the outcome of a turn could not be read", &error),
        };
        let Some(reply) = reply.map(Arc::new) else { return };
        job.surface.emit(&job.turn, TurnEvent::Done(reply.clone()));
        job.reply.send_replace(Some(reply));
    }

    /// Ends a turn that made no model call.
    async fn end_unasked(&self, job: Job, outcome: &TurnOutcome, messages: Vec<Message>) {
        let model = self.agents().get_or_main(&job.inbound.agent).model();
        let reply = Arc::new(outcome.reply(&job, String::new(), model, Usage::default()));
        let reply = match self.store(&Arc::new(messages), &reply, Vec::new(), None).await {
            Ok(_) => Some(reply),
            // Another program has ended it or still owns it. In the latter case it has not ended, whatever was wanted
            // here.
            Err(error) if error.is_invalid() => return self.end_with_stored(job).await,
            Err(error) => reply_if_not_stored(reply, &error),
        };
        if let Some(reply) = reply {
            let context = TurnContext::of(job.turn.clone(), &job.inbound);
            self.announce(job, &context, reply, false).await;
        }
    }
}

/// Returns the reply to announce for a turn whose outcome the storage did not accept. During shutdown there is none,
/// because the next start takes care of the turn. If the turn was removed or closed meanwhile, it is the actual outcome;
/// otherwise it is the fault that the outcome is not stored.
pub(super) fn reply_if_not_stored(reply: Arc<Reply>, error: &Error) -> Option<Arc<Reply>> {
    log_storage("the outcome of a turn was not stored", error);
    if error.is_not_found() || error.is_invalid() {
        return Some(reply);
    }
    if error.is_busy() {
        return None;
    }
    let sentence = match error.is_damaged() {
        true => format!("The answer could not be stored, because {error}."),
        false => {
            "The answer could not be stored because of a fault in the program; the log has more.".to_owned()
        }
    };
    let failure = Some(Failure::new(EndReason::Storage, &sentence));
    let reply = Arc::unwrap_or_clone(reply);
    Some(Arc::new(Reply { text: sentence, end: TurnEnd::Error, failure, ..reply }))
}

/// Returns the sources of the outside content that a turn worked on: the sender of the message, and anything else
/// that a model saw between outside-content markers. `None` if all of it is the owner's or the assistant's own.
pub(super) fn outside<'m>(inbound: &Inbound, seen: impl Iterator<Item = &'m Message>) -> Option<String> {
    let mut sources: Vec<String> = Vec::new();
    // For a repeated message, the original sender is no longer known.
    let is_named = inbound.untrusted && inbound.intent == Intent::Say;
    if is_named {
        let Inbound { channel, sender, .. } = inbound;
        sources.push(if sender == channel { channel.clone() } else { format!("{channel} {sender}") });
    }
    for message in seen {
        for outside in message.content.iter().filter_map(Block::outside) {
            let source = match outside {
                Outside::Tool(name) => format!("`{name}`"),
                Outside::File(name) => format!("the file {name:?}"),
                // The inbound message is named above; this is an earlier message, or something that was delivered here.
                Outside::Words if is_named => continue,
                Outside::Words => "an earlier message".to_owned(),
            };
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    (!sources.is_empty()).then(|| sources.join(", "))
}

/// Returns the person's error message about a failed model, with the exact wait if there is one.
pub(super) fn failure(error: &ModelError, retry_after: Option<Duration>) -> Failure {
    let mut message = error.to_string();
    let seconds = retry_after.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    if let Some(seconds) = seconds {
        // The exact wait replaces the approximate one in the sentence. What other models say stands behind it.
        let (sentence, rest) = match message.split_once("; try again") {
            Some((sentence, rest)) => (sentence, rest.split_once(". ").map_or("", |(_, rest)| rest)),
            None => (message.as_str(), ""),
        };
        let (sentence, wait) = (sentence.trim_end_matches('.'), in_words(seconds));
        let rest = if rest.is_empty() { String::new() } else { format!(" {rest}") };
        message = format!("{sentence}.{rest} Try again in {wait}.");
    }
    Failure::new(error.kind(), message).with_retry_after(seconds)
}
