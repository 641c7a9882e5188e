//! A rough token estimate: four characters make one token. Exact counts come from the provider; this only has to be
//! good enough to stay clear of the limit.

use aethon_core::message::{Block, Message, ToolResult};
use aethon_core::tool::{OutputBlock, ToolSpec};

/// The overhead of one message.
const PER_MESSAGE: u64 = 4;

/// The most tokens that a picture takes with the usual services.
const PER_IMAGE: u64 = 1600;

/// Estimates the tokens of a message; 0 for one that models never see.
pub(super) fn message(message: &Message) -> u64 {
    let tokens: u64 = message.content.iter().map(block).sum();
    if message.content.iter().any(says_something) { tokens + PER_MESSAGE } else { 0 }
}

/// Returns how many of a result's pictures a vision model sees.
fn pictures(result: &ToolResult) -> u64 {
    result.blocks.iter().filter(|block| matches!(block, OutputBlock::Image { .. })).count() as u64
}

/// Estimates the tokens of a text.
pub(crate) fn text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Estimates the tokens of tool descriptions.
pub(crate) fn tools(tools: &[ToolSpec]) -> u64 {
    tools
        .iter()
        .map(|tool| text(&tool.description) + (json_length(&tool.parameters) as u64).div_ceil(4))
        .sum()
}

/// Returns whether a block alone justifies a message. Reasoning alone does not: services refuse a message without
/// content.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text { text, .. } => !text.is_empty(),
        Block::Reasoning { .. } => false,
        other => other.is_for_model(),
    }
}

fn block(block: &Block) -> u64 {
    match block {
        Block::Text { text: said, .. } | Block::Context { text: said, .. } => text(said),
        Block::Image { .. } => PER_IMAGE,
        Block::File { text: file, name, .. } => text(file) + text(name),
        Block::Reasoning { text: thought, opaque, .. } => {
            text(thought) + opaque.as_ref().map_or(0, |opaque| (json_length(&opaque.data) as u64).div_ceil(4))
        }
        Block::Search(search) => {
            search.opaque.as_ref().map_or(0, |opaque| (json_length(&opaque.data) as u64).div_ceil(4))
        }
        Block::ToolCall(call) => text(&call.name) + (json_length(&call.input) as u64).div_ceil(4),
        Block::ToolResult(result) => text(&result.output) + pictures(result) * PER_IMAGE,
        Block::Folded { summary, .. } => text(summary),
        Block::Notice { .. } => 0,
    }
}

/// Returns the length of a value as JSON text, computed without writing it.
fn json_length(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_length(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, field)| name.len() + 4 + json_length(field)).sum::<usize>()
        }
    }
}
