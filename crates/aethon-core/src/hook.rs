//! Cross-cutting concerns of a turn: guards, limits, recording.
//!
//! Hooks run in one fixed order, set in one place (the facade). One that errs before an action denies it; one that errs
//! after it is logged. All methods do nothing by default.

use async_trait::async_trait;

use crate::ids::{SessionId, TurnId};
use crate::message::{Failure, Inbound, Message, Reply, ToolCall, ToolResult};
use crate::model::{ModelRequest, Usage};
use crate::tool::{ToolContext, ToolSpec};

/// A concern that sees every turn.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Its name, for logs and refusals.
    fn name(&self) -> &'static str;

    /// Before anything is done for an inbound message. An error refuses the turn with that sentence.
    async fn before_turn(&self, _turn: &TurnContext, _inbound: &Inbound) -> Result<(), Failure> {
        Ok(())
    }

    /// Before a request goes to a model. An error ends the turn.
    async fn before_model(&self, _turn: &TurnContext, _request: &ModelRequest) -> Result<(), Failure> {
        Ok(())
    }

    /// After a model has answered (or failed, with what it used until then).
    async fn after_model(&self, _turn: &TurnContext, _message: Option<&Message>, _usage: &Usage) {}

    /// Before a tool runs.
    async fn before_tool(&self, _context: &ToolContext, _spec: &ToolSpec, _call: &ToolCall) -> Verdict {
        Verdict::Allow
    }

    /// After a tool ran; may change what the model gets to see.
    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, _result: &mut ToolResult) {}

    /// After the turn is stored.
    async fn after_turn(&self, _turn: &TurnContext, _reply: &Reply) {}
}

/// What a hook knows of the turn.
#[derive(Debug, Clone)]
pub struct TurnContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The channel that brought it.
    pub channel: String,
    /// Who sent it.
    pub sender: String,
}

/// A hook's word on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Do not, for this reason, which names the key or rule that governs it.
    Deny(String),
    /// Ask a person first; the text says what for.
    Ask(String),
}
