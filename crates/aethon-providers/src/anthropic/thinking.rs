//! Controls the thinking of Anthropic's models, on their own service and on Bedrock: newer ones decide how long to
//! think and get an effort, older ones get a token budget.

use std::sync::Arc;

use aethon_core::message::{Block, Message, Role};
use aethon_core::model::{Effort, ModelRequest};
use serde_json::{Value, json};

use crate::policy::RequestPolicy;

/// The thinking settings of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Nothing: the service's default applies.
    Unsaid,
    /// Disabled.
    Off,
    /// As much as the model finds right for this effort.
    Adaptive(&'static str),
    /// Less than the model would choose, where thinking cannot be disabled.
    Less(&'static str),
    /// Up to this many tokens.
    Budget(u64),
}

/// Decides the settings of a request, given its effort. `dialect` is the one whose thoughts go back.
pub(crate) fn of(request: &ModelRequest, policy: &RequestPolicy, dialect: &str) -> Thinking {
    let Some(effort) = policy.effort(request) else { return Thinking::Unsaid };
    let word = policy.rules.effort_word(effort).unwrap_or(effort.as_str());
    match effort {
        Effort::None if policy.rules.thinking_always_on => Thinking::Less("low"),
        Effort::None => Thinking::Off,
        _ if policy.rules.adaptive_thinking => Thinking::Adaptive(word),
        // With a budget, a step must begin with the thoughts of the previous step.
        _ if lacks_thoughts(request, dialect) => Thinking::Unsaid,
        _ => RequestPolicy::thinking_budget(effort, policy.output_room(request))
            .map_or(Thinking::Unsaid, Thinking::Budget),
    }
}

/// Returns whether the current turn has calls without a signed thought before them, such as those of another model.
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
    /// Returns whether the model certainly thinks, which excludes sampling parameters.
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Self::Adaptive(_) | Self::Budget(_) | Self::Less(_))
    }

    /// Writes it to a body, or to the fields that Bedrock passes on to the model.
    pub(crate) fn write(self, body: &mut Value) {
        match self {
            Self::Unsaid => {}
            Self::Off => body["thinking"] = json!({ "type": "disabled" }),
            Self::Adaptive(effort) => {
                // Without this, some models send their thoughts without the text.
                body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
                body["output_config"] = json!({ "effort": effort });
            }
            Self::Less(effort) => body["output_config"] = json!({ "effort": effort }),
            Self::Budget(tokens) => body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens }),
        }
    }
}
