//! Messages as the interface shows them: without what is meant for providers only, and with the Markdown of the
//! assistant rendered.

use aethon_core::ids::{MessageId, TurnId};
use aethon_core::message::{Block, Message, Role, TurnEnd};
use aethon_core::model::Usage;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::markdown;

/// Whether assistant texts carry their HTML besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rendering {
    /// The source only.
    Source,
    /// The source, and one string of safe HTML a block.
    Html,
}

/// A message of a transcript.
#[derive(Serialize)]
pub(super) struct Shown {
    id: MessageId,
    role: Role,
    content: Vec<ShownBlock>,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    created_at: Timestamp,
    turn: Option<TurnId>,
    model: Option<String>,
    usage: Option<Usage>,
    stop_reason: Option<TurnEnd>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ShownBlock {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        html: Option<Vec<String>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
    },
    Image {
        mime: String,
        data: String,
    },
    File {
        name: String,
        mime: String,
        text: String,
    },
    Reasoning {
        text: String,
    },
    ToolCall {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        call: String,
        name: String,
        output: String,
        is_error: bool,
        denied: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    Notice {
        code: String,
        text: String,
    },
    Folded {
        messages: u64,
        from: String,
        to: String,
        summary: String,
    },
}

impl Shown {
    /// The message as it is shown.
    pub(super) fn new(message: Message, rendering: Rendering) -> Self {
        let is_markdown = rendering == Rendering::Html && message.role == Role::Assistant;
        Self {
            id: message.id,
            role: message.role,
            content: message.content.into_iter().map(|block| shown_block(block, is_markdown)).collect(),
            created_at: message.created_at,
            turn: message.turn,
            model: message.model,
            usage: message.usage,
            stop_reason: message.stop_reason,
        }
    }
}

fn shown_block(block: Block, is_markdown: bool) -> ShownBlock {
    match block {
        Block::Text { text, untrusted } => {
            let html = is_markdown.then(|| markdown::blocks(&text));
            ShownBlock::Text { html, text, untrusted: untrusted.is_some() }
        }
        Block::Image { mime, data } => ShownBlock::Image { mime, data },
        Block::File { name, mime, text } => ShownBlock::File { name, mime, text },
        Block::Reasoning { text, .. } => ShownBlock::Reasoning { text },
        Block::ToolCall(call) => ShownBlock::ToolCall { id: call.id, name: call.name, input: call.input },
        Block::ToolResult(result) => ShownBlock::ToolResult {
            call: result.call,
            name: result.name,
            output: result.output,
            is_error: result.is_error,
            denied: result.denied,
            ms: result.ms,
        },
        Block::Notice { code, text } => ShownBlock::Notice { code, text },
        Block::Folded { messages, from, to, summary } => ShownBlock::Folded { messages, from, to, summary },
    }
}
