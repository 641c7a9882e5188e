//! Keeps the board of agents up to date, and writes finished work to the history.
//!
//! It runs before all other hooks, so that a turn which one of them refuses is recorded too. It never blocks a turn:
//! the board is in memory, and a failure to write the history is only logged.

use aethon_core::agents::AgentBoard;
use aethon_core::hook::{AddedContext, Hook, ToolDecision};
use aethon_core::message::{Failure, Inbound, Reply, ToolCall, ToolResult};
use aethon_core::tool::{ToolContext, ToolSpec};
use aethon_core::turn::TurnContext;
use async_trait::async_trait;

/// Reports the events of turns to the board.
#[derive(Debug, Clone)]
pub struct WatchAgents(pub AgentBoard);

#[async_trait]
impl Hook for WatchAgents {
    fn name(&self) -> &'static str {
        "agents"
    }

    async fn before_turn(&self, turn: &TurnContext, inbound: &Inbound) -> Result<Vec<AddedContext>, Failure> {
        self.0.begin(turn, inbound);
        Ok(Vec::new())
    }

    async fn before_tool(&self, context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        self.0.uses(&context.turn, &call.id, &spec.name);
        ToolDecision::Allow
    }

    async fn after_tool(&self, context: &ToolContext, call: &ToolCall, result: &mut ToolResult) {
        self.0.used(&context.turn, &call.id, !result.denied);
    }

    async fn after_turn(&self, _turn: &TurnContext, reply: &Reply) {
        let Some(run) = self.0.end(reply) else { return };
        if let Err(error) = self.0.history().add(run).await {
            tracing::warn!(%error, turn = %reply.turn, "what an agent did was not written down");
        }
    }
}
