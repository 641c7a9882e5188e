//! Requests for a fallback whose window is smaller than that of the configured model.
//!
//! The conversation itself stays as it is, so that the configured model sees the same bytes as before once it answers
//! again: the fallback gets a copy in which a summary, made by the fallback or by `model.small`, takes the place of the
//! older messages. The summary is kept in memory, so that the next request needs no new one.

use std::sync::Arc;

use aethon_core::hook::TurnContext;
use aethon_core::message::Message;
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::surface::Surface;
use aethon_core::tool::ToolSpec;
use async_trait::async_trait;

use super::agents::RunningAgent;
use super::compaction::{Allowance, Compactor, Conversation};
use super::narrow_views::NarrowView;
use super::offer::Offer;
use super::shared::Shared;
use crate::control::Control;
use crate::meter::{Adapt, Adapted, Shortening};
use crate::models::{Candidate, Models};
use crate::window::{ContextWindow, estimate_text};

/// Shortens the requests of one turn for fallbacks.
pub(super) struct Narrower<'a> {
    pub(super) shared: &'a Shared,
    pub(super) agent: &'a RunningAgent,
    pub(super) context: &'a TurnContext,
    pub(super) surface: &'a dyn Surface,
    pub(super) window: &'a ContextWindow,
    /// Where the turn begins in the window.
    pub(super) start: usize,
    /// All tools that can be called.
    pub(super) tools: &'a Arc<[ToolSpec]>,
    pub(super) control: Control,
    /// The usage of the summaries.
    pub(super) spent: Usage,
}

#[async_trait]
impl Adapt for Narrower<'_> {
    async fn adapted(
        &mut self,
        candidate: &Candidate,
        request: &ModelRequest,
        shortening: Shortening,
    ) -> Option<Adapted> {
        let model = candidate.provider.capabilities();
        let mut limits = self.shared.options.limits_of(&model);
        if shortening == Shortening::ToHalf {
            limits.tokens /= 2;
        }
        let offer = Offer::new(self.tools.clone(), &model, limits.tokens);
        // A part of an answer that is to be continued, or the request for a closing one, stands behind the window.
        let behind: Vec<Arc<Message>> = request.messages.iter().skip(self.window.len()).cloned().collect();
        let behind_tokens: u64 = behind.iter().map(|message| estimate_text(&message.text())).sum();
        let beside = estimate_text(&request.system) + offer.tokens + behind_tokens;
        let allowance = Allowance { limits, beside };
        let conversation = self.narrowed(candidate, &allowance).await;
        let mut messages = conversation.window.messages();
        Arc::make_mut(&mut messages).extend(behind);
        let mut narrow = request.clone().with_turn_start(conversation.start).with_tools(offer.specs.clone());
        narrow.messages = messages;
        let tokens = beside + conversation.window.tokens();
        tracing::info!(session = %self.context.session, model = model.model, tokens, "the request is shortened for a fallback");
        let counter = &conversation.window.counter;
        let (input, expected_input) = (counter.tokens(tokens), counter.expected(tokens));
        Some(Adapted { request: narrow, input, expected_input })
    }
}

impl Narrower<'_> {
    /// Returns a copy of the conversation that fits this allowance, as far as anything can be cut.
    async fn narrowed(&mut self, candidate: &Candidate, allowance: &Allowance) -> Conversation {
        let session = &self.context.session;
        // Counts of the configured model say nothing about this one's.
        let mut conversation = Conversation::new(self.window.uncounted(), self.start);
        let mut covered = 0;
        if let Some(view) = self.shared.caches.narrow_views.get(session, self.window, allowance.limits.tokens)
            && view.prefix.len <= self.start
        {
            covered = view.prefix.len;
            conversation.replace(view.summary, view.prefix);
        }
        let compactor = Compactor {
            shared: self.shared,
            agent: self.agent,
            context: self.context,
            surface: self.surface,
        };
        let models = Models::only(candidate);
        let made = compactor.make_room_aside(&mut conversation, allowance, models, &mut self.control).await;
        self.spent += std::mem::take(&mut conversation.spent);
        if let Some(aside) = made {
            // The summary so far is the first message of the copy.
            let len = if covered > 0 { covered + aside.len - 1 } else { aside.len };
            if let Some(prefix) = self.window.prefix(len).filter(|_| aside.is_whole) {
                let tokens = allowance.limits.tokens;
                let view = NarrowView { prefix, summary: aside.summary, tokens };
                self.shared.caches.narrow_views.put(session, view);
            }
        }
        conversation
    }
}
