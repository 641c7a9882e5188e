//! The recorder's hook: puts requests, answers, tool calls and ends of turns on the queue as events. It never delays a
//! turn.

use std::sync::Arc;

use aethon_core::hook::{Hook, ToolDecision, TurnContext};
use aethon_core::message::{Block, Failure, Message, Reply, ToolCall, ToolResult};
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::tool::{ToolContext, ToolSpec};
use aethon_guard::redact::Redactor;
use async_trait::async_trait;
use serde_json::Value;

use crate::event::{CallName, EventData, MAX_TEXT, ModelContext, cut};
use crate::shared::Shared;

/// Hook that records what happens in a turn.
pub(crate) struct RecorderHook(pub(crate) Arc<Shared>);

#[async_trait]
impl Hook for RecorderHook {
    fn name(&self) -> &'static str {
        "recorder"
    }

    async fn before_model(&self, turn: &TurnContext, request: &ModelRequest) -> Result<(), Failure> {
        // A request for a summary of older messages has its own prompt and one message that is stored nowhere; they are not
        // the context of the conversation.
        let own = request.messages.get(request.turn_start..).unwrap_or_default();
        let is_main = own.iter().any(|message| message.id.0 != 0);
        let context =
            is_main.then(|| ModelContext { system: request.system.clone(), tools: request.tools.clone() });
        let data = EventData::ModelRequest {
            agent: turn.agent.clone(),
            attempt: request.attempt,
            messages: request.messages.len(),
            tools: request.tools.len(),
            purpose: if is_main { "answer" } else { "summary" },
            context,
        };
        self.0.record_event(&turn.session, Some(&turn.turn), data, 0);
        Ok(())
    }

    async fn after_model(&self, turn: &TurnContext, outcome: Result<&Message, &Failure>, usage: &Usage) {
        let (agent, usage) = (turn.agent.clone(), *usage);
        let (data, bytes) = match outcome {
            Ok(message) => {
                let calls = message.tool_calls();
                let tool_calls =
                    calls.map(|call| CallName { id: call.id.clone(), name: call.name.clone() }).collect();
                let (text, truncated) = cut(&self.0.redactor.get(), message.text());
                let (bytes, model, reasoning) =
                    (text.len(), message.model.clone(), reasoning(&self.0.redactor.get(), message));
                let data =
                    EventData::ModelResponse { agent, model, text, truncated, reasoning, tool_calls, usage };
                (data, bytes)
            }
            Err(failure) => {
                let message = failure.message.clone();
                let bytes = message.len();
                (EventData::ModelError { agent, message, usage }, bytes)
            }
        };
        self.0.record_event(&turn.session, Some(&turn.turn), data, bytes);
    }

    async fn before_tool(&self, context: &ToolContext, _spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        let input = call.input.to_string();
        let bytes = input.len();
        let input = if bytes > MAX_TEXT {
            Value::String(cut(&self.0.redactor.get(), input).0)
        } else {
            call.input.clone()
        };
        let data = EventData::ToolCall {
            agent: context.agent.clone(),
            call: call.id.clone(),
            name: call.name.clone(),
            input,
        };
        self.0.record_event(&context.session, Some(&context.turn), data, bytes.min(MAX_TEXT));
        ToolDecision::Allow
    }

    async fn after_tool(&self, context: &ToolContext, call: &ToolCall, result: &mut ToolResult) {
        let (output, truncated) = cut(&self.0.redactor.get(), result.output.as_str());
        let bytes = output.len();
        let data = EventData::ToolResult {
            agent: context.agent.clone(),
            call: call.id.clone(),
            name: call.name.clone(),
            output,
            truncated,
            is_error: result.is_error,
            denied: result.denied,
            untrusted: result.untrusted.is_some(),
            ms: result.ms,
        };
        self.0.record_event(&context.session, Some(&context.turn), data, bytes);
    }

    async fn after_turn(&self, turn: &TurnContext, reply: &Reply) {
        let data = EventData::TurnEnded {
            agent: turn.agent.clone(),
            channel: turn.channel.clone(),
            sender: turn.sender.clone(),
            end: reply.end,
            model: reply.model.clone(),
            usage: reply.usage,
            failure: reply.failure.as_ref().map(|failure| failure.message.clone()),
        };
        self.0.record_event(&turn.session, Some(&turn.turn), data, 0);
    }
}

/// Returns the readable reasoning of a message.
fn reasoning(redactor: &Redactor, message: &Message) -> Option<String> {
    let thoughts = message.content.iter().filter_map(|block| match block {
        Block::Reasoning { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let thoughts = thoughts.collect::<Vec<_>>().join("\n\n");
    (!thoughts.is_empty()).then(|| cut(redactor, thoughts).0)
}
