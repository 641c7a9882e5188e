//! A message and its blocks as JSON.
//!
//! The fields are those of the OpenAPI document, with `stop_reason` on the last message of a turn. Signatures and
//! encrypted reasoning are private to providers, and the boundaries of marked content to the engine, so neither is
//! written here.

use aethon_core::ids::TurnId;
use aethon_core::message::{Block as StoredBlock, Message as StoredMessage, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::tool::OutputBlock;
use aethon_core::web_search::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::markdown;

/// Whether the assistant's Markdown comes with its HTML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// The source only.
    Source,
    /// The source, and one string of safe HTML for each of its blocks.
    Html,
}

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its number, as a string.
    pub id: String,
    /// Its author.
    pub role: Role,
    /// Its content.
    pub content: Vec<Block>,
    /// When it was created, RFC 3339 in UTC.
    #[schemars(with = "jiff::Timestamp")]
    pub created_at: String,
    /// The model that wrote it.
    pub model: Option<String>,
    /// What generating it used.
    pub usage: Option<Usage>,
    /// The turn it belongs to.
    pub turn: Option<TurnId>,
    /// Why the turn ended, on its last message.
    pub stop_reason: Option<TurnEnd>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text from a person, Markdown from the assistant.
    Text {
        /// The source.
        text: String,
        /// The rendered blocks, if requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        html: Option<Vec<String>>,
        /// Whether it comes from an outside source.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
    },
    /// A picture.
    Image {
        /// Its media type.
        mime: String,
        /// Its bytes in base64.
        data: String,
    },
    /// A text file.
    File {
        /// Its name.
        name: String,
        /// Its media type.
        mime: String,
        /// Its text.
        text: String,
        /// Whether it comes from an outside source.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
    },
    /// The readable part of the model's reasoning.
    Reasoning {
        /// The text.
        text: String,
        /// How long it took in milliseconds, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// A web search that the model's provider ran.
    Search {
        /// What was searched for.
        query: String,
        /// The pages that were found.
        sources: Vec<Source>,
    },
    /// A tool call by the model.
    ToolCall {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The tool.
        name: String,
        /// The text that it returned.
        output: String,
        /// Pictures and files that it returned in addition.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blocks: Vec<OutputBlock>,
        /// Whether it comes from an outside source.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
        /// Whether it failed.
        is_error: bool,
        /// Whether a rule or a person refused it.
        denied: bool,
        /// The arguments it ran with, if a person changed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// How long it took in milliseconds; absent if it never ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// A message from the program.
    Notice {
        /// A stable code.
        code: String,
        /// A sentence.
        text: String,
    },
    /// Context that the program gave the model in addition to the person's words.
    Context {
        /// Its source.
        source: String,
        /// The text.
        text: String,
    },
    /// Older messages that the model sees only as a summary.
    Folded {
        /// How many.
        messages: u64,
        /// The id of the first of them.
        from: String,
        /// The id of the last of them.
        to: String,
        /// The summary.
        summary: String,
    },
}

impl Message {
    /// Converts a stored message.
    pub fn new(message: StoredMessage, rendering: Rendering) -> Self {
        let is_markdown = rendering == Rendering::Html && message.role == Role::Assistant;
        Self {
            id: message.id.0.to_string(),
            role: message.role,
            content: message.content.into_iter().map(|block| Block::new(block, is_markdown)).collect(),
            created_at: aethon_core::time::text(message.created_at),
            model: message.model,
            usage: message.usage,
            turn: message.turn,
            stop_reason: message.stop_reason,
        }
    }

    /// Cuts texts to `most` bytes and drops the data of pictures.
    pub(crate) fn shortened(mut self, most: usize) -> Self {
        for block in &mut self.content {
            block.shorten(most);
        }
        self
    }
}

impl Block {
    fn new(block: StoredBlock, is_markdown: bool) -> Self {
        match block {
            StoredBlock::Text { text, untrusted } => {
                let html = is_markdown.then(|| markdown::blocks(&text));
                Self::Text { html, text, untrusted: untrusted.is_some() }
            }
            StoredBlock::Image { mime, data, .. } => Self::Image { mime, data },
            StoredBlock::File { name, mime, text, untrusted } => {
                Self::File { name, mime, text, untrusted: untrusted.is_some() }
            }
            StoredBlock::Reasoning { text, ms, .. } => Self::Reasoning { text, ms },
            StoredBlock::Search(search) => Self::Search { query: search.query, sources: search.sources },
            StoredBlock::ToolCall(call) => Self::ToolCall { id: call.id, name: call.name, input: call.input },
            StoredBlock::ToolResult(result) => Self::ToolResult {
                call: result.call,
                name: result.name,
                output: result.output,
                blocks: result.blocks,
                untrusted: result.untrusted.is_some(),
                is_error: result.is_error,
                denied: result.denied,
                input: result.edited,
                ms: result.ms,
            },
            StoredBlock::Notice { code, text } => Self::Notice { code, text },
            StoredBlock::Context { source, text, .. } => Self::Context { source, text },
            StoredBlock::Folded { messages, from, to, summary } => {
                Self::Folded { messages, from, to, summary }
            }
        }
    }

    fn shorten(&mut self, most: usize) {
        match self {
            Self::Text { text, .. }
            | Self::File { text, .. }
            | Self::Context { text, .. }
            | Self::Reasoning { text, .. } => cut(text, most),
            Self::Image { data, .. } => data.clear(),
            Self::ToolResult { output, blocks, input, .. } => {
                cut(output, most);
                if input.as_ref().is_some_and(|input| input.to_string().len() > most) {
                    *input = None;
                }
                blocks.iter_mut().for_each(|block| shorten_output(block, most));
            }
            Self::ToolCall { input, .. } if input.to_string().len() > most => *input = Value::Null,
            Self::Folded { summary, .. } => cut(summary, most),
            Self::ToolCall { .. } | Self::Search { .. } | Self::Notice { .. } => {}
        }
    }
}

fn shorten_output(block: &mut OutputBlock, most: usize) {
    match block {
        OutputBlock::Text { text } | OutputBlock::File { text, .. } => cut(text, most),
        OutputBlock::Image { data, .. } => data.clear(),
    }
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::ids::MessageId;
    use aethon_core::message::{Opaque, ToolCall, ToolResult};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    /// Returns one block of each kind, with every field filled.
    fn every_block() -> Vec<StoredBlock> {
        let opaque = || Some(Opaque { dialect: "anthropic".into(), data: json!({"signature": "hidden"}) });
        let call = ToolCall {
            id: "c1".into(),
            name: "shell".into(),
            input: json!({"command": "ls"}),
            opaque: opaque(),
        };
        let mut result = ToolResult::ok(&call, "a.txt");
        result.blocks = vec![OutputBlock::Image { mime: "image/png".into(), data: "iVBORw==".into() }];
        result.untrusted = Some("boundary-hidden".into());
        result.note = Some("hidden: for the model".into());
        result.ms = Some(12);
        vec![
            StoredBlock::Text { text: "*hi*".into(), untrusted: Some("boundary-hidden".into()) },
            StoredBlock::Image { mime: "image/png".into(), data: "iVBORw==".into(), opaque: opaque() },
            StoredBlock::File {
                name: "a.txt".into(),
                mime: "text/plain".into(),
                text: "file".into(),
                untrusted: None,
            },
            StoredBlock::Reasoning { text: "hm".into(), opaque: opaque(), ms: Some(7) },
            StoredBlock::ToolCall(call),
            StoredBlock::ToolResult(result),
            StoredBlock::notice("stopped", "Stopped."),
            StoredBlock::Folded {
                messages: 3,
                from: "1".into(),
                to: "3".into(),
                summary: "They met.".into(),
            },
        ]
    }

    fn stored() -> StoredMessage {
        let mut message = StoredMessage::new(Role::Assistant, every_block(), Timestamp::UNIX_EPOCH);
        message.id = MessageId(7);
        message.turn = Some(TurnId::existing("t1"));
        message.model = Some("m1".into());
        message.usage = Some(Usage { input_tokens: 5, output_tokens: 2, cost_usd: 0.5, ..Usage::default() });
        message.stop_reason = Some(TurnEnd::End);
        message
    }

    #[test]
    fn a_message_has_exactly_this_form() {
        let form = |rendering| serde_json::to_value(Message::new(stored(), rendering)).unwrap();
        let mut expected = json!({
            "id": "7",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "*hi*", "untrusted": true},
                {"type": "image", "mime": "image/png", "data": "iVBORw=="},
                {"type": "file", "name": "a.txt", "mime": "text/plain", "text": "file"},
                {"type": "reasoning", "text": "hm", "ms": 7},
                {"type": "tool_call", "id": "c1", "name": "shell", "input": {"command": "ls"}},
                {"type": "tool_result", "call": "c1", "name": "shell", "output": "a.txt",
                    "blocks": [{"type": "image", "mime": "image/png", "data": "iVBORw=="}], "untrusted": true,
                    "is_error": false, "denied": false, "ms": 12},
                {"type": "notice", "code": "stopped", "text": "Stopped."},
                {"type": "folded", "messages": 3, "from": "1", "to": "3", "summary": "They met."},
            ],
            "created_at": "1970-01-01T00:00:00.000Z",
            "model": "m1",
            "usage": {"input_tokens": 5, "output_tokens": 2, "cached_tokens": 0, "cost_usd": 0.5},
            "turn": "t1",
            "stop_reason": "end",
        });
        assert_eq!(form(Rendering::Source), expected);
        expected["content"][0]["html"] = json!(["<p><em>hi</em></p>"]);
        assert_eq!(form(Rendering::Html), expected);
        assert!(!form(Rendering::Html).to_string().contains("hidden"), "internals leak");
    }

    #[test]
    fn messages_survive_a_round_trip_through_json() {
        let message = Message::new(stored(), Rendering::Html);
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }

    #[test]
    fn long_texts_are_cut_between_characters_and_short_ones_stay() {
        let message = Message::new(stored(), Rendering::Source);
        let mut text_only = message.clone();
        text_only.content.retain(|block| !matches!(block, Block::Image { .. } | Block::ToolResult { .. }));
        assert_eq!(text_only.clone().shortened(4096), text_only);
        let Block::Image { data, .. } = &message.shortened(4096).content[1] else { panic!("a picture") };
        assert!(data.is_empty());
        let mut text = "é".repeat(4096);
        cut(&mut text, 4096);
        assert!(text.len() <= 4096 + '…'.len_utf8() && text.ends_with('…'));
    }
}
