//! The end of a turn: the answer and its outcome are composed, stored in one transaction with the beginning of the next
//! turn, and announced. Each stage takes the value of the one before.

use std::sync::Arc;

use aethon_core::channel::NewDelivery;
use aethon_core::error::Result;
use aethon_core::message::{Block, Message, Reply};
use aethon_core::session::Finished;
use tokio::sync::OwnedSemaphorePermit;

use super::compaction::compact_ahead;
use super::ends::reply_if_not_stored;
use super::outcome::TurnOutcome;
use super::turn::Turn;
use aethon_core::storage_log::log_storage;

/// The end of a turn, as it will be stored.
struct ComposedEnd {
    /// The messages that the turn has not stored yet.
    messages: Vec<Message>,
    reply: Arc<Reply>,
    /// Where the reply goes beside the session.
    deliveries: Vec<NewDelivery>,
    /// The place of a long answer: the next long one is composed when this one has been announced.
    place: Option<OwnedSemaphorePermit>,
}

/// The end of a turn after the storage has answered.
enum StoredEnd {
    /// To be announced with this reply.
    Known { reply: Arc<Reply>, delivers: bool, place: Option<OwnedSemaphorePermit> },
    /// Another program has ended the turn: the outcome that it stored counts.
    EndedElsewhere,
    /// It is not stored, and the next start takes care of the turn.
    LeftOpen,
}

impl Turn<'_> {
    /// Ends the turn: its outcome is stored and announced.
    pub(super) async fn finish(mut self, outcome: TurnOutcome) {
        if outcome.is_shutdown() && self.job.inbound.dedupe.is_some() {
            return self.leave_open().await;
        }
        let composed = self.compose_end(&outcome).await;
        let stored = self.store_end(composed).await;
        self.announce(stored).await;
    }

    /// Leaves a turn as a crash would, for the next start to resume: its sender can name it again, and would
    /// otherwise permanently get half an answer. The results of finished calls are stored, so that these do not run
    /// again, unless all relevant calls can run again: then the ones that were cut off run again, too.
    async fn leave_open(self) {
        let (turn, session) = (self.context.turn.clone(), self.context.session.clone());
        let is_left = self.tools.can_run_again(&self.offer.all);
        let results = self.tools.results(self.shared.services.clock.now()).filter(|_| !is_left);
        if let Some(mut results) = results {
            results.turn = Some(turn.clone());
            if let Err(error) = self.shared.services.turns.append(&turn, vec![results]).await {
                log_storage("results of a turn that goes on at the next start were not stored", &error);
            }
        }
        tracing::info!(%session, %turn, "a turn was not finished before the end; the next start goes on with it");
    }

    /// Composes what is left to store. Waits for the end of another long answer before it copies this one.
    async fn compose_end(&mut self, outcome: &TurnOutcome) -> ComposedEnd {
        let now = self.shared.services.clock.now();
        let turn = &self.context.turn;
        let configured = self.agent.model();
        let mut messages = Vec::with_capacity(2);
        if let Some(mut results) = self.tools.results(now) {
            results.turn = Some(turn.clone());
            messages.push(results);
        }
        self.answer.usage += std::mem::take(&mut self.dialogue.usage);
        let response = std::mem::take(&mut self.dialogue.response);
        let mut last =
            self.answer.last.take().unwrap_or_else(|| response.into_message(turn, &configured, now));
        let before_pause = std::mem::take(&mut self.answer.before_pause);
        let place = self.shared.caches.large_reply_gate.enter(before_pause.len() + last.text_bytes()).await;
        let text = last.text();
        let said = if before_pause.is_empty() { text } else { before_pause + &text };
        let said = if said.trim().is_empty() { in_place_of_pictures(&last) } else { said };
        last.content.splice(0..0, self.answer.changed_instructions.take());
        outcome.seal(&mut last);
        messages.push(last);
        let model = self.answer.model.take().unwrap_or(configured);
        let reply = Arc::new(outcome.reply(&self.job, said, model, self.answer.usage));
        let window = &self.conversation.window;
        let seen = window.part(0, window.len()).map(|message| &**message).chain(&messages);
        let deliveries = self.shared.ends.deliveries(&self.job.inbound, &reply, seen);
        ComposedEnd { messages, reply, deliveries, place }
    }

    /// Stores the end together with the beginning of the turn that waits behind it, so that nothing comes between them.
    async fn store_end(&mut self, composed: ComposedEnd) -> StoredEnd {
        let ComposedEnd { messages, reply, deliveries, place } = composed;
        let delivers = !deliveries.is_empty();
        let session = self.context.session.clone();
        let next = if self.conversation.is_whole && self.shared.queues.is_another_waiting(&session) {
            self.shared.agents.refresh(&self.context.agent).await;
            self.shared.begin_next(&session, &self.conversation.window)
        } else {
            None
        };
        let messages = Arc::new(messages);
        let stored: Result<Finished> = self.shared.ends.store(&messages, &reply, deliveries, next).await;
        let has_begun = stored.as_ref().ok().and_then(|finished| finished.next.clone());
        self.shared.queues.has_begun(&session, has_begun);
        match stored {
            Ok(finished) => {
                self.keep_window(Arc::unwrap_or_clone(messages), &finished);
                StoredEnd::Known { reply, delivers, place }
            }
            Err(error) => {
                self.shared.windows.forget(&session);
                if error.is_invalid() {
                    log_storage("a turn had been ended before", &error);
                    return StoredEnd::EndedElsewhere;
                }
                match reply_if_not_stored(reply, &error) {
                    Some(reply) => StoredEnd::Known { reply, delivers: false, place },
                    None => StoredEnd::LeftOpen,
                }
            }
        }
    }

    /// Notifies everyone who waits for the end, and the hooks last.
    async fn announce(self, stored: StoredEnd) {
        match stored {
            StoredEnd::Known { reply, delivers, place } => {
                self.shared.ends.announce_end(&self.job, &reply, delivers);
                self.name_conversation(&reply);
                // The next long answer may end while the hooks look at this one.
                drop((place, self.job));
                self.shared.services.hooks.after_turn(&self.context, &reply).await;
            }
            StoredEnd::EndedElsewhere => self.shared.ends.end_with_stored(self.job).await,
            StoredEnd::LeftOpen => {}
        }
    }

    fn keep_window(&mut self, messages: Vec<Message>, finished: &Finished) {
        let ids = &finished.messages;
        for (place, mut message) in messages.into_iter().enumerate() {
            if let Some(id) = ids.get(place) {
                message.id = *id;
            }
            self.keep(message);
        }
        let session = &self.context.session;
        // The storage knows about other programs; the queue also knows about messages written after the end was
        // stored.
        let was_changed = self.shared.queues.take_external_change(session) || finished.beside;
        // If the models have changed meanwhile, its token counts are of no use to the next turn.
        let is_current = self.shared.agents.is_current(&self.agent);
        if !was_changed && is_current && self.conversation.is_whole && !self.job.inbound.oneshot {
            let allowance = self.allowance(&self.system_prompt());
            let who = (&self.agent, &self.context);
            compact_ahead(self.shared, who, &self.conversation.window, &allowance);
            let window = std::mem::take(&mut self.conversation.window);
            self.shared.windows.put(session, (self.agent.window_owner(), ids.last().copied()), window);
        }
    }
}

/// Returns the text for those who cannot see the pictures of an answer that has nothing else.
fn in_place_of_pictures(message: &Message) -> String {
    let pictures = message.content.iter().filter_map(|block| match block {
        Block::Image { mime, .. } => Some(format!("*(A picture, {mime}; the page shows it.)*")),
        _ => None,
    });
    pictures.collect::<Vec<_>>().join("\n\n")
}
