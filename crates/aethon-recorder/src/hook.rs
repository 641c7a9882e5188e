//! The recorder's hook: puts requests, answers, tool calls and ends of turns on the queue as events. It never delays a
//! turn.

use std::sync::Arc;

use aethon_core::hook::{Hook, ToolDecision, TurnContext};
use aethon_core::message::{Block, Failure, Message, Reply, ToolCall, ToolResult};
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::recording::Layer;
use aethon_core::tool::{ToolContext, ToolSpec};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::queue::Entry;
use crate::recorder::Shared;

/// Maximum characters of a text in an event; the snapshot after the turn has the whole text.
pub(crate) const MOST_TEXT: usize = 16_000;

/// Hook that records what happens in a turn.
pub(crate) struct RecorderHook(pub(crate) Arc<Shared>);

#[async_trait]
impl Hook for RecorderHook {
    fn name(&self) -> &'static str {
        "recorder"
    }

    async fn before_model(&self, turn: &TurnContext, request: &ModelRequest) -> Result<(), Failure> {
        // A request for a summary of older messages has its own prompt and one message that is stored nowhere; skip it.
        let own = request.messages.get(request.turn_start..).unwrap_or_default();
        let is_main = own.iter().any(|message| message.id.0 != 0);
        if is_main {
            let (system, tools) = (request.system.clone(), request.tools.clone());
            self.0.push(Entry::Offer { session: turn.session.clone(), system, tools }, 0);
        }
        let data = json!({
            "agent": turn.agent,
            "attempt": request.attempt,
            "messages": request.messages.len(),
            "tools": request.tools.len(),
            "purpose": if is_main { "answer" } else { "summary" },
        });
        self.0.happened((&turn.session, Some(&turn.turn)), (Layer::Agent, "model_request"), data, 0);
        Ok(())
    }

    async fn after_model(&self, turn: &TurnContext, outcome: Result<&Message, &Failure>, usage: &Usage) {
        let (kind, data, bytes) = match outcome {
            Ok(message) => {
                let calls: Vec<Value> =
                    message.tool_calls().map(|call| json!({ "id": call.id, "name": call.name })).collect();
                let (text, is_cut) = cut(&message.text());
                let bytes = text.len();
                let data = json!({
                    "agent": turn.agent, "model": message.model, "text": text, "truncated": is_cut,
                    "reasoning": reasoning(message), "tool_calls": calls, "usage": usage,
                });
                ("model_response", data, bytes)
            }
            Err(failure) => {
                let data = json!({ "agent": turn.agent, "message": failure.message, "usage": usage });
                ("model_error", data, failure.message.len())
            }
        };
        self.0.happened((&turn.session, Some(&turn.turn)), (Layer::Agent, kind), data, bytes);
    }

    async fn before_tool(&self, context: &ToolContext, _spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        let input = call.input.to_string();
        let bytes = input.len();
        let input = if bytes > MOST_TEXT { Value::String(cut(&input).0) } else { call.input.clone() };
        let data = json!({ "agent": context.agent, "call": call.id, "name": call.name, "input": input });
        let turn = (&context.session, Some(&context.turn));
        self.0.happened(turn, (Layer::Tool, "tool_call"), data, bytes.min(MOST_TEXT));
        ToolDecision::Allow
    }

    async fn after_tool(&self, context: &ToolContext, call: &ToolCall, result: &mut ToolResult) {
        let (output, is_cut) = cut(&result.output);
        let bytes = output.len();
        let data = json!({
            "agent": context.agent, "call": call.id, "name": call.name, "output": output, "truncated": is_cut,
            "is_error": result.is_error, "denied": result.denied, "untrusted": result.untrusted.is_some(),
            "ms": result.ms,
        });
        let turn = (&context.session, Some(&context.turn));
        self.0.happened(turn, (Layer::Tool, "tool_result"), data, bytes);
    }

    async fn after_turn(&self, turn: &TurnContext, reply: &Reply) {
        let data = json!({
            "agent": turn.agent, "channel": turn.channel, "sender": turn.sender, "end": reply.end,
            "model": reply.model, "usage": reply.usage,
            "failure": reply.failure.as_ref().map(|failure| &failure.message),
        });
        self.0.happened((&turn.session, Some(&turn.turn)), (Layer::Agent, "turn_ended"), data, 0);
    }
}

/// Shortens a text that is too long for an event. Returns the text and whether it was cut.
pub(crate) fn cut(text: &str) -> (String, bool) {
    match text.char_indices().nth(MOST_TEXT) {
        None => (text.to_owned(), false),
        Some((end, _)) => (text[..end].to_owned(), true),
    }
}

/// Returns the readable reasoning of a message.
fn reasoning(message: &Message) -> Option<String> {
    let thoughts = message.content.iter().filter_map(|block| match block {
        Block::Reasoning { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let thoughts = thoughts.collect::<Vec<_>>().join("\n\n");
    (!thoughts.is_empty()).then(|| cut(&thoughts).0)
}
