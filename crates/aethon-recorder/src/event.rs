//! The events of a recording: what each kind tells.

use std::sync::Arc;

use aethon_core::ids::{AgentName, MessageId, SessionId, TurnId};
use aethon_core::message::{Block, Message, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::recording::Layer;
use aethon_core::session::Begin;
use aethon_core::tool::ToolSpec;
use aethon_guard::redact::Redactor;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::record::ENDED;

/// Maximum characters of a text in an event; the snapshot after the turn has the whole text.
pub(crate) const MAX_TEXT: usize = 16_000;

/// The content of an event. Its name and its layer follow from its kind.
///
/// The types are written as they are, without a [`Value`] in between: at full load, building and dropping one for every
/// event cost more than everything else about a recording.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum EventData {
    RecordingStarted {
        session_id: SessionId,
        version: &'static str,
        cwd: String,
    },
    TurnStarted {
        text: String,
        truncated: bool,
        replaces: Option<TurnId>,
        untrusted: bool,
        attachments: usize,
    },
    ModelRequest {
        agent: AgentName,
        attempt: u32,
        messages: usize,
        tools: usize,
        purpose: &'static str,
        /// The model's input besides the conversation, for the next snapshot.
        #[serde(skip)]
        context: Option<ModelContext>,
    },
    ModelResponse {
        agent: AgentName,
        model: Option<String>,
        text: String,
        truncated: bool,
        reasoning: Option<String>,
        tool_calls: Vec<CallName>,
        usage: Usage,
    },
    ModelError {
        agent: AgentName,
        message: String,
        usage: Usage,
    },
    ToolCall {
        agent: AgentName,
        call: String,
        name: String,
        input: Value,
    },
    ToolResult {
        agent: AgentName,
        call: String,
        name: String,
        output: String,
        truncated: bool,
        is_error: bool,
        denied: bool,
        untrusted: bool,
        ms: Option<u64>,
    },
    /// Older messages were replaced by a summary in the model's input.
    Folded {
        messages: u64,
        from: String,
        to: String,
    },
    MessagePosted {
        message: MessageId,
        text: String,
        truncated: bool,
    },
    TurnEnded {
        agent: AgentName,
        channel: String,
        sender: String,
        end: TurnEnd,
        model: String,
        usage: Usage,
        failure: Option<String>,
    },
    Snapshot {
        n: u64,
        message_count: u64,
    },
    /// Events were lost before this one.
    Gap {
        dropped: u64,
    },
    RecordingEnded {
        reason: &'static str,
    },
}

/// The input of a model besides the conversation.
#[derive(Debug, Clone)]
pub(crate) struct ModelContext {
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSpec]>,
}

/// A tool call, without its arguments.
#[derive(Debug, Serialize)]
pub(crate) struct CallName {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// An event of a session.
#[derive(Debug)]
pub(crate) struct SessionEvent {
    pub(crate) session: SessionId,
    pub(crate) turn: Option<TurnId>,
    pub(crate) at: Timestamp,
    pub(crate) data: EventData,
}

impl EventData {
    /// Returns the name of the event, as written.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::RecordingStarted { .. } => "recording_started",
            Self::TurnStarted { .. } => "turn_started",
            Self::ModelRequest { .. } => "model_request",
            Self::ModelResponse { .. } => "model_response",
            Self::ModelError { .. } => "model_error",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::Folded { .. } => "folded",
            Self::MessagePosted { .. } => "message_posted",
            Self::TurnEnded { .. } => "turn_ended",
            Self::Snapshot { .. } => "snapshot",
            Self::Gap { .. } => "gap",
            Self::RecordingEnded { .. } => ENDED,
        }
    }

    /// Returns the part of the program that the event comes from.
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Self::TurnStarted { .. }
            | Self::ModelRequest { .. }
            | Self::ModelResponse { .. }
            | Self::ModelError { .. }
            | Self::TurnEnded { .. } => Layer::Agent,
            Self::ToolCall { .. } | Self::ToolResult { .. } => Layer::Tool,
            Self::RecordingStarted { .. }
            | Self::Folded { .. }
            | Self::MessagePosted { .. }
            | Self::Snapshot { .. }
            | Self::Gap { .. }
            | Self::RecordingEnded { .. } => Layer::Sys,
        }
    }
}

/// Describes the start of a turn.
pub(crate) fn turn_started(redactor: &Redactor, begin: &Begin) -> EventData {
    let Begin { message, replaces } = begin;
    let (text, truncated) = cut(redactor, message.text());
    let untrusted =
        message.content.iter().any(|block| matches!(block, Block::Text { untrusted: Some(_), .. }));
    let attachments = message.content.iter().filter(|block| !matches!(block, Block::Text { .. })).count();
    EventData::TurnStarted { text, truncated, replaces: replaces.clone(), untrusted, attachments }
}

/// Describes the summaries among these messages.
pub(crate) fn folded(messages: &[Message]) -> Vec<EventData> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let folded = blocks.filter_map(|block| match block {
        Block::Folded { messages, from, to, .. } => {
            Some(EventData::Folded { messages: *messages, from: from.clone(), to: to.clone() })
        }
        _ => None,
    });
    folded.collect()
}

/// Shortens a text that is too long for an event. Returns the text and whether it was cut. It is masked first, though what is
/// written is masked anyway: of a secret at the cut, a part would stay that is no longer recognised.
pub(crate) fn cut(redactor: &Redactor, text: impl Into<String>) -> (String, bool) {
    let text = text.into();
    // A character has at least one byte, so a short text need not be walked through.
    if text.len() <= MAX_TEXT || text.char_indices().nth(MAX_TEXT).is_none() {
        return (text, false);
    }
    let mut beginning = redactor.redact_kept_beginning(&text, MAX_TEXT);
    if beginning.ends_with('…') {
        beginning.pop();
    }
    (beginning, true)
}
