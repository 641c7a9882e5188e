//! Cross-cutting concerns of a turn: guards, limits, recall, recording.
//!
//! Hooks run in one fixed order, set in one place (the facade). One that errs before an action denies it; one that errs
//! after it is logged. All methods do nothing by default.

use async_trait::async_trait;

use crate::message::{Failure, Inbound, Message, Reply, ToolCall, ToolResult};
use crate::model::{ModelRequest, Usage};
use crate::tool::{ToolContext, ToolSpec};
pub use crate::turn::TurnContext;

/// A concern that sees every turn.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Its name, for logs and refusals.
    fn name(&self) -> &'static str;

    /// Before anything is done for an inbound message. Returns what the model should know besides the message (nothing,
    /// for most hooks); an error refuses the turn with that sentence.
    async fn before_turn(
        &self,
        _turn: &TurnContext,
        _inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        Ok(Vec::new())
    }

    /// Before a request goes to a model. An error ends the turn.
    async fn before_model(&self, _turn: &TurnContext, _request: &ModelRequest) -> Result<(), Failure> {
        Ok(())
    }

    /// After a model has answered or failed, with what the call used until then.
    async fn after_model(&self, _turn: &TurnContext, _outcome: Result<&Message, &Failure>, _usage: &Usage) {}

    /// Before a tool runs.
    async fn before_tool(&self, _context: &ToolContext, _spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        ToolDecision::Allow
    }

    /// After a tool ran; may change what the model gets to see.
    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, _result: &mut ToolResult) {}

    /// After the turn is stored.
    async fn after_turn(&self, _turn: &TurnContext, _reply: &Reply) {}
}

/// The source of context that is the program's own word, and no stranger's.
pub const OWN_CONTEXT: &str = "verification";

/// Looks at an answer before it counts as one.
#[async_trait]
pub trait Review: Send + Sync {
    /// What speaks against it, for the model that gave it; it is asked once more then, and the next answer counts.
    async fn objection(&self, turn: &TurnContext, answer: &Message) -> Option<String>;
}

/// What a hook adds to a turn for the model to know: recalled memories, say. The model gets it behind the person's message
/// and marked as data; it is stored with the turn, so that later requests repeat it byte for byte, and it is not shown as
/// the person's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedContext {
    /// Where it comes from, such as `memory`.
    pub source: String,
    /// The text itself.
    pub text: String,
}

impl AddedContext {
    /// Context from this source.
    pub fn new(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self { source: source.into(), text: text.into() }
    }
}

/// A hook's word on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolDecision {
    /// Go on.
    Allow,
    /// Do not, for this reason, which names the key or rule that governs it.
    Deny(String),
    /// Ask a person first; the text says what for.
    Ask(String),
}

impl ToolDecision {
    /// With one more reason to ask a person. A refusal stays one.
    #[must_use]
    pub fn with_question(self, reason: Option<String>) -> Self {
        match (self, reason) {
            (decision, None) => decision,
            (Self::Allow, Some(reason)) => Self::Ask(reason),
            (Self::Ask(first), Some(reason)) => Self::Ask(format!("{first}; {reason}")),
            (refusal @ Self::Deny(_), Some(_)) => refusal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_add_up_and_a_refusal_stays_one() {
        let check = |decision: ToolDecision, reason: Option<&str>, expected: ToolDecision| {
            assert_eq!(decision.with_question(reason.map(str::to_owned)), expected);
        };
        check(ToolDecision::Allow, None, ToolDecision::Allow);
        check(ToolDecision::Allow, Some("a"), ToolDecision::Ask("a".into()));
        check(ToolDecision::Ask("a".into()), Some("b"), ToolDecision::Ask("a; b".into()));
        check(ToolDecision::Ask("a".into()), None, ToolDecision::Ask("a".into()));
        check(ToolDecision::Deny("a".into()), Some("b"), ToolDecision::Deny("a".into()));
    }
}
