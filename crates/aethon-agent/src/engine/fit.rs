//! Makes a turn's next request fit: queries the model's limits, and has the conversation compacted.

use aethon_core::message::Block;
use aethon_core::model::ProviderSearch;
use aethon_core::surface::TurnEvent;

use super::compaction::{Allowance, Compactor};
use super::outcome::TurnOutcome;
use super::turn::Turn;
use crate::window::estimate_text;

/// A request of fewer tokens fits every model that is of use to an assistant.
const FITS_ANYWHERE: u64 = 3_000;

impl Turn<'_> {
    /// Chooses the tools and, where it may matter, queries the model's limits from the service: some servers silently
    /// truncate requests that are too long. Without an answer the assumed limits apply.
    pub(super) async fn discover_model(&mut self, system: &str) -> Result<(), TurnOutcome> {
        self.offer_tools();
        // Most services reject requests that are too long and report the limit; then fewer tools are offered. Where
        // requests are truncated silently, the tools count too.
        let refused = if self.is_cut_silently() { 0 } else { self.offer.tokens };
        if self.estimated(system).saturating_sub(refused) <= FITS_ANYWHERE {
            return Ok(());
        }
        self.has_looked = true;
        let learnt = self.control.guard(self.agent.agent.models.learn()).await;
        if let Err(error) = learnt.map_err(TurnOutcome::interrupted)? {
            tracing::debug!(%error, "the service does not say what its model can do");
        }
        self.offer_tools();
        Ok(())
    }

    /// Returns whether the service silently truncates requests that are too long.
    fn is_cut_silently(&self) -> bool {
        self.agent.agent.models.capabilities().cuts_silently
    }

    /// Chooses the tools again if something was learnt about the window.
    pub(super) fn offer_tools(&mut self) {
        let mut most = self.agent.limits(&self.shared.options).tokens;
        if self.is_cut_silently() && !self.has_looked {
            // The conversation is still short. With only the most important tools there is no need to ask the service.
            most = most.min(FITS_ANYWHERE);
        }
        self.offer.fit(most);
    }

    /// Notifies the person once that the model answers without having seen the picture.
    pub(super) fn notify_unseen_picture(&mut self) {
        let model = self.agent.agent.models.capabilities();
        if model.images || self.answer.is_unseen_picture_reported || !self.begins_with_a_picture() {
            return;
        }
        self.answer.is_unseen_picture_reported = true;
        let message = format!("{} cannot see pictures; it was only told that one is there.", model.model);
        let notice = TurnEvent::Notice { code: "picture_not_seen".into(), message };
        self.job.surface.emit(&self.context.turn, notice);
    }

    /// Notifies the person once that the model is unknown, of the limits assumed for it, and of the settings to use.
    pub(super) fn notify_assumed_limits(&self) {
        let model = self.agent.agent.models.capabilities();
        if model.web_search == ProviderSearch::Lacking {
            let message = format!(
                "`model.web_search` is on, but as far as is known {} has no web search of its own; `tools.web_search` \
                 sets up a tool that every model can use.",
                model.model
            );
            self.notify_once("no_web_search", &message);
        }
        if model.is_known || !self.shared.reported_models.is_new(&model.model) {
            return;
        }
        let message = format!(
            "{} is in no table of models: a window of {} tokens and answers of up to {} are assumed. Set \
             `model.context_window` to what it takes, and `budget.pricing` to what it costs; `aethon-cli model update` installs a newer table.",
            model.model, model.context_window, model.max_output
        );
        let notice = TurnEvent::Notice { code: "unknown_model".into(), message };
        self.job.surface.emit(&self.context.turn, notice);
    }

    /// Notifies the person of something about the model, once until the program ends.
    pub(super) fn notify_once(&self, code: &str, message: &str) {
        if self.shared.reported_models.is_new(&format!("{code} {}", self.agent.model())) {
            let notice = TurnEvent::Notice { code: code.into(), message: message.into() };
            self.job.surface.emit(&self.context.turn, notice);
        }
    }

    fn begins_with_a_picture(&self) -> bool {
        let (window, start) = (&self.conversation.window, self.conversation.start);
        let mut begin = window.part(start, (start + 1).min(window.len()));
        begin.any(|message| message.content.iter().any(|block| matches!(block, Block::Image { .. })))
    }

    /// Makes the next request fit.
    pub(super) async fn make_room(&mut self, system: &str) -> Result<(), TurnOutcome> {
        let allowance = self.allowance(system);
        let (shared, context, surface) = (self.shared, &self.context, &*self.job.surface);
        let compactor = Compactor { shared, agent: &self.agent, context, surface };
        let made = compactor.make_room(&mut self.conversation, &allowance, &mut self.control).await;
        self.answer.usage += std::mem::take(&mut self.conversation.spent);
        made
    }

    /// Compacts after the service called the conversation too long. `false` if nothing can be done about it.
    pub(super) async fn compact_for_the_service(&mut self, system: &str) -> Result<bool, TurnOutcome> {
        // The rejection may have said how much the service accepts.
        self.agent.keep_what_was_learnt(&self.shared.tasks);
        let allowance = self.allowance(system);
        let (shared, context, surface) = (self.shared, &self.context, &*self.job.surface);
        let compactor = Compactor { shared, agent: &self.agent, context, surface };
        let conversation = &mut self.conversation;
        let made = compactor.compact_for_the_service(conversation, &allowance, &mut self.control).await;
        self.answer.usage += std::mem::take(&mut self.conversation.spent);
        made
    }

    /// Returns the estimated tokens of the next request.
    pub(super) fn estimated(&self, system: &str) -> u64 {
        self.allowance(system).beside + self.conversation.window.tokens()
    }

    /// Returns the token limit of the next request, and how much of it is not conversation.
    pub(super) fn allowance(&self, system: &str) -> Allowance {
        let continued: u64 =
            self.answer.continued.iter().flatten().map(|message| estimate_text(&message.text())).sum();
        Allowance {
            limits: self.agent.limits(&self.shared.options),
            beside: estimate_text(system) + self.offer.tokens + continued,
        }
    }

    /// Records the provider's count for an estimate.
    pub(super) fn calibrate(&mut self, counted: u64, estimated: u64) {
        if let Some(ratio) = self.conversation.window.counter.note(counted, estimated) {
            self.agent.knowledge.learn_ratio(ratio);
        }
        self.agent.keep_what_was_learnt(&self.shared.tasks);
    }
}
