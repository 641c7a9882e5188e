//! How a model of Anthropic's is told to think, on its own service and on Bedrock: newer ones decide by themselves and are
//! told an effort, older ones are given a budget of tokens.

use std::sync::Arc;

use aethon_core::message::{Block, Message, Role};
use aethon_core::model::{Effort, ModelRequest};
use serde_json::{Value, json};

use crate::terms::Terms;

/// What a request says of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Nothing: as the service thinks is usual.
    Unsaid,
    /// None.
    Off,
    /// As much as the model finds right for this effort.
    Adaptive(&'static str),
    /// Less than the model would like by itself, where it cannot be kept from it.
    Less(&'static str),
    /// Up to so many tokens.
    Budget(u64),
}

/// What a request says, by the effort that is wanted; `dialect` is the one whose thoughts go back.
pub(crate) fn of(request: &ModelRequest, terms: &Terms, dialect: &str) -> Thinking {
    let Some(effort) = terms.effort(request) else { return Thinking::Unsaid };
    let word = terms.rules.effort_word(effort).unwrap_or(effort.as_str());
    match effort {
        Effort::None if terms.rules.thinking_always_on => Thinking::Less("low"),
        Effort::None => Thinking::Off,
        _ if terms.rules.adaptive_thinking => Thinking::Adaptive(word),
        // With a budget, a step must begin with the thoughts of the step before.
        _ if lacks_thoughts(request, dialect) => Thinking::Unsaid,
        _ => Terms::thinking_budget(effort, terms.output_room(request))
            .map_or(Thinking::Unsaid, Thinking::Budget),
    }
}

/// Whether the turn that is running holds calls that no signed thought precedes, as those of another model.
fn lacks_thoughts(request: &ModelRequest, dialect: &str) -> bool {
    let is_question = |message: &&Arc<Message>| message.role == Role::User;
    let of_the_turn = request.messages.iter().rev().take_while(|message| !is_question(message));
    of_the_turn.filter(|message| message.role == Role::Assistant).any(|message| {
        let is_call = |block: &Block| matches!(block, Block::ToolCall(_));
        let is_thought = |block: &Block| match block {
            Block::Reasoning { opaque: Some(opaque), .. } => opaque.dialect == dialect,
            _ => false,
        };
        message.content.iter().any(is_call) && !message.content.iter().any(is_thought)
    })
}

impl Thinking {
    /// Whether the model surely thinks, which excludes sampling parameters.
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Self::Adaptive(_) | Self::Budget(_) | Self::Less(_))
    }

    /// Puts it into a body, or into what Bedrock hands through to the model.
    pub(crate) fn write(self, body: &mut Value) {
        match self {
            Self::Unsaid => {}
            Self::Off => body["thinking"] = json!({ "type": "disabled" }),
            Self::Adaptive(effort) => {
                // Some models else send their thoughts without the text.
                body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
                body["output_config"] = json!({ "effort": effort });
            }
            Self::Less(effort) => body["output_config"] = json!({ "effort": effort }),
            Self::Budget(tokens) => body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens }),
        }
    }
}
