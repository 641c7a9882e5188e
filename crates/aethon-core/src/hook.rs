//! Cross-cutting concerns of a turn: guards, limits, recall, recording.
//!
//! Hooks run in one fixed order, which the facade defines in one place. An error before an action denies it; an error
//! after it is logged. By default every method does nothing.

use async_trait::async_trait;

use crate::message::{Failure, Inbound, Message, Reply, ToolCall, ToolResult};
use crate::model::{ModelRequest, Usage};
use crate::tool::{ToolContext, ToolSpec};
pub use crate::turn::TurnContext;

/// A concern that applies to every turn.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Its name, for logs and refusals.
    fn name(&self) -> &'static str;

    /// Runs before anything is done for an inbound message. Returns context for the model besides the message (for
    /// most hooks, nothing); an error refuses the turn with its sentence.
    async fn before_turn(
        &self,
        _turn: &TurnContext,
        _inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        Ok(Vec::new())
    }

    /// Runs before a request goes to a model. An error ends the turn.
    async fn before_model(&self, _turn: &TurnContext, _request: &ModelRequest) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs after a model has answered or failed, with the usage of the call so far.
    async fn after_model(&self, _turn: &TurnContext, _outcome: Result<&Message, &Failure>, _usage: &Usage) {}

    /// Runs before a tool does.
    async fn before_tool(&self, _context: &ToolContext, _spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        ToolDecision::Allow
    }

    /// Runs after a tool has run; may change the result that the model sees.
    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, _result: &mut ToolResult) {}

    /// Runs after the turn is stored.
    async fn after_turn(&self, _turn: &TurnContext, _reply: &Reply) {}
}

/// The source of context that comes from the program itself and is trusted: a check of an answer or of edits, and the request
/// to repair an answer that does not fit its schema.
pub const OWN_CONTEXT: &str = "verification";

/// The source of context that tells of commands which have ended in the background. It comes from the program, too.
pub const COMMANDS_CONTEXT: &str = "commands";

/// The source of context that tells which changes of files the owner has taken back. It comes from the program, too.
pub const FILES_CONTEXT: &str = "files";

/// Whether context of this source comes from the program itself, and not from the outside through it.
pub fn is_own_context(source: &str) -> bool {
    [OWN_CONTEXT, COMMANDS_CONTEXT, FILES_CONTEXT].contains(&source)
}

/// Reviews an answer before it counts as one.
#[async_trait]
pub trait Review: Send + Sync {
    /// Returns an objection for the model that gave the answer. The model is then asked once more, and its next answer
    /// counts.
    async fn objection(&self, turn: &TurnContext, answer: &Message) -> Option<String>;
}

/// Context that a hook adds to a turn, such as recalled memories. The model gets it after the person's message, marked
/// as data. It is stored with the turn, so that later requests repeat it byte for byte, and is not shown as the
/// person's words.
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

/// A hook's decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolDecision {
    /// Continue.
    Allow,
    /// Deny, for this reason, which names the key or rule that governs it.
    Deny(String),
    /// Ask a person first, for this reason.
    Ask(String),
}

impl ToolDecision {
    /// Adds a reason to ask a person. A denial stays a denial.
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
