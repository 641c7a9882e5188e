//! Makes a turn's next request fit: queries the model's limits, and has the conversation compacted.

use aethon_core::message::Block;
use aethon_core::model::{ProviderSearch, WindowSource};
use aethon_core::provider::Provider;
use aethon_core::surface::TurnEvent;

use super::compaction::{Allowance, Compactor};
use super::outcome::OrEnd;
use super::shared::Shared;
use super::turn::Turn;
use crate::window::estimate_text;

/// A request of fewer tokens fits every model that is of use to an assistant.
const FITS_ANYWHERE: u64 = 3_000;

/// Queries the limits of the main agent's models if their service must be asked before a first request.
pub(super) async fn look_at_models(shared: &Shared) {
    let agent = shared.agents.current().main().clone();
    if !agent.agent.models.capabilities().window.is_asked_first {
        return;
    }
    match agent.agent.models.learn().await {
        Ok(()) => agent.keep_what_was_learnt(&shared.tasks),
        Err(error) => tracing::debug!(%error, "the service does not say yet what its model can do"),
    }
}

impl Turn<'_> {
    /// Queries the model's limits from the service where it may matter, and chooses the tools. Ollama, which truncates what
    /// is too long, and servers on this machine are asked before the first request, so that the tools stay the same from
    /// then on; the others are asked for a longer one. Without an answer the assumed limits apply.
    pub(super) async fn discover_model(&mut self, system: &str) -> OrEnd {
        self.offer_tools();
        let is_asked_first = self.agent.agent.models.capabilities().window.is_asked_first;
        if is_asked_first || self.estimated(system).saturating_sub(self.offer.tokens) > FITS_ANYWHERE {
            let learnt = self.control.guard(self.agent.agent.models.learn()).await;
            if let Err(error) = learnt? {
                tracing::debug!(%error, "the service does not say what its model can do");
            }
            self.offer_tools();
        }
        self.notify_left_out_tools();
        Ok(())
    }

    /// Chooses the tools again if something was learnt about the window.
    pub(super) fn offer_tools(&mut self) {
        let model = self.agent.agent.models.capabilities();
        self.offer.fit(&model, self.agent.limits(&self.shared.options).tokens);
    }

    /// Notifies the person once that the window has no room for all tools, and of the remedy.
    fn notify_left_out_tools(&self) {
        let model = self.agent.agent.models.capabilities();
        let (offered, all) = (self.offer.specs.len(), self.offer.all.len());
        // What the service does not take is on the list of features, and no setting of the window changes it.
        let is_small = offered < all && !self.offer.has_room && model.tool_terms.are_read && model.tools;
        let case = format!("{} with {offered} of {all} tools", model.model);
        if !is_small || !self.shared.caches.reported_models.is_new(&case) {
            return;
        }
        let is_told = model.window.source == WindowSource::Service && !model.window.cuts_silently;
        let remedy = match model.window.longest {
            Some(longest) if longest <= model.context_window => {
                "A model with a longer context can be offered all of them.".to_owned()
            }
            // Its own server decides, and only Ollama can be asked for another window.
            Some(longest) if is_told => {
                format!("Start its server with a longer context, up to {longest}, to offer it all of them.")
            }
            None if is_told => "Start its server with a longer context to offer it all of them.".to_owned(),
            Some(longest) => {
                format!(
                    "Set `{}.context_window` to more, up to {longest}, to offer it all of them.",
                    model.section
                )
            }
            None => {
                format!("Set `{}.context_window` if it takes more, to offer it all of them.", model.section)
            }
        };
        let message = format!(
            "{} has room for {offered} of the {all} tools ({}). {remedy}",
            model.model,
            model.window_in_words()
        );
        let notice = TurnEvent::Notice { code: "tools_left_out".into(), message };
        self.job.surface.emit(&self.context.turn, notice);
    }

    /// Notifies the person once that the model answers without having seen the picture.
    pub(super) fn notify_unseen_picture(&mut self) {
        let (model, sees_pictures) = match &self.dialogue.fallback {
            Some(fallback) => (fallback.model.clone(), fallback.sees_pictures),
            None => {
                let configured = self.agent.agent.models.capabilities();
                (configured.model.clone(), configured.images)
            }
        };
        if sees_pictures || self.answer.is_unseen_picture_reported || !self.begins_with_a_picture() {
            return;
        }
        self.answer.is_unseen_picture_reported = true;
        let message = format!("{model} cannot see pictures; it was only told that one is there.");
        let notice = TurnEvent::Notice { code: "picture_not_seen".into(), message };
        self.job.surface.emit(&self.context.turn, notice);
    }

    /// Notifies the person once that the model is unknown, of the limits assumed for it, and of the settings to use.
    pub(super) async fn notify_assumed_limits(&mut self) -> OrEnd {
        let mut model = self.agent.agent.models.capabilities();
        if model.web_search == ProviderSearch::Lacking {
            let message = format!(
                "`model.web_search` is on, but as far as is known {} has no web search of its own; `tools.web_search` \
                 sets up a tool that every model can use.",
                model.model
            );
            self.notify_once("no_web_search", &message);
        }
        if model.is_known || !self.shared.caches.reported_models.is_new(&model.model) {
            return Ok(());
        }
        if Provider::from_name(&model.provider) == Some(Provider::LiteLlm) {
            // Its owner chose the name, so only the proxy knows the model; after the answer this delays nothing.
            let learnt = self.control.guard(self.agent.agent.models.learn()).await;
            if let Err(error) = learnt? {
                tracing::debug!(%error, "the proxy does not say what its model can do");
            }
            model = self.agent.agent.models.capabilities();
            if model.is_known {
                return Ok(());
            }
        }
        let message = format!(
            "{} is in no table of models: a window of {} tokens and answers of up to {} are assumed. Set \
             `{}.context_window` to what it takes, and `budget.pricing` to what it costs; `aethon-cli model update` installs a newer table.",
            model.model, model.context_window, model.max_output, model.section
        );
        let notice = TurnEvent::Notice { code: "unknown_model".into(), message };
        self.job.surface.emit(&self.context.turn, notice);
        Ok(())
    }

    /// Notifies the person of something about the model, once until the program ends.
    pub(super) fn notify_once(&self, code: &str, message: &str) {
        if self.shared.caches.reported_models.is_new(&format!("{code} {}", self.agent.model())) {
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
    pub(super) async fn make_room(&mut self, system: &str) -> OrEnd {
        let allowance = self.allowance(system);
        let (shared, context, surface) = (self.shared, &self.context, &*self.job.surface);
        let compactor = Compactor { shared, agent: &self.agent, context, surface };
        let made = compactor.make_room(&mut self.conversation, &allowance, &mut self.control).await;
        self.answer.usage += std::mem::take(&mut self.conversation.spent);
        made
    }

    /// Compacts after the service called the conversation too long. `false` if nothing can be done about it.
    pub(super) async fn compact_for_the_service(&mut self, system: &str) -> OrEnd<bool> {
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
