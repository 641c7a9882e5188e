//! What a turn is told to do and by whom it is answered: the system prompt, and what a person is told when it or the model
//! has changed.

use std::sync::Arc;

use aethon_core::ledger::WorkKind;
use aethon_core::message::Block;
use aethon_core::surface::TurnEvent;

use super::turn::Turn;

impl Turn<'_> {
    /// Says that the chosen model is gone, so that another answers.
    pub(super) fn notify_missing_model(&mut self) {
        if let Some(name) = self.missing_model.take() {
            let message = format!(
                "The model `{name}` that was chosen here is not configured any more; {} answers instead. `/model` lists those \
                 that can be chosen.",
                self.agent.model()
            );
            let notice = TurnEvent::Notice { code: "model_gone".into(), message };
            self.job.surface.emit(&self.context.turn, notice);
        }
    }

    /// Returns the system prompt, with the session's own instructions at its end.
    pub(super) fn system_prompt(&self) -> Arc<str> {
        let prompt = self.agent.agent.prompt.text();
        match &self.defaults.instructions {
            None => prompt,
            Some(instructions) => {
                format!("{prompt}\n\n# Instructions for this conversation\n\n{instructions}").into()
            }
        }
    }

    /// Reports changes of the model's instructions to the owner, if the turn is the owner's own.
    pub(super) async fn notify_changed_instructions(&mut self) {
        let inbound = &self.job.inbound;
        let is_owners = inbound.kind == WorkKind::Turn && inbound.behalf.person.is_owner();
        if inbound.is_from_outside() || !is_owners {
            return;
        }
        if let Some(message) = self.shared.agents.news().await {
            self.answer.changed_instructions = Some(Block::notice("prompt_changed", &message));
            let notice = TurnEvent::Notice { code: "prompt_changed".into(), message };
            self.job.surface.emit(&self.context.turn, notice);
        }
    }
}
