//! Stores the ends of turns and announces them, of those that ran and of those that never asked a model.

use std::sync::Arc;

use aethon_core::channel::NewDelivery;
use aethon_core::error::{Error, Result};
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::TurnId;
use aethon_core::message::{
    Block, EndReason, Failure, Inbound, Intent, Message, Outside, Reply, Role, TurnEnd,
};
use aethon_core::model::Usage;
use aethon_core::session::{Begin, Finish, Finished};
use aethon_core::surface::TurnEvent;
use aethon_core::turn::TurnContext;

use super::agent_pool::AgentPool;
use super::outcome::TurnOutcome;
use crate::dispatcher::Job;
use crate::options::Options;
use crate::outbox::expiry;
use crate::services::Services;
use aethon_core::patience::{retry_until_stored, until_read};
use aethon_core::storage_log::log_storage;

/// Stores how turns end, and announces it.
pub(super) struct TurnEnds {
    pub(super) services: Arc<Services>,
    pub(super) options: Arc<Options>,
    pub(super) agents: Arc<AgentPool>,
}

impl TurnEnds {
    pub(super) fn new(services: Arc<Services>, options: Arc<Options>, agents: Arc<AgentPool>) -> Self {
        Self { services, options, agents }
    }

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
            self.services.turns.finish(Finish { messages, reply, deliveries, next: next.take() })
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
        self.services.publish_session(session, SessionChange::Updated);
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
        let read = || self.services.turns.turn(&job.turn);
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
        let model = self.agents.current().get_or_main(&job.inbound.agent).model();
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
