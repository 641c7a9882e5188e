//! Decides whether the response to a request is searched for calls at all, and how strong the evidence must be.
//!
//! The services of large vendors handle their models' calls properly, so anything that looks like a call in their
//! text is text. A model that has made one proper call in a conversation is able to, and its text is no longer
//! searched.

use std::sync::Arc;

use aethon_core::ids::unique;
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::ModelRequest;
use aethon_core::tool::ToolSpec;

use super::call::TextCall;
use super::families::table::FAMILIES;
use super::quoted::is_quotation;
use crate::options::Provider;
use crate::service::Service;

/// The prefix of ids of calls that were written as text. Stored conversations contain it, so it must not change.
const TEXT_CALL: &str = "said_";

/// A person who says one of these may want to see JSON rather than have it run.
const JSON_WORDS: [&str; 2] = ["json", "code block"];

/// A person who says one of these may be asking about calls.
const CALL_WORDS: [&str; 4] = ["example", "tool call", "function call", "tool_call"];

/// How much of a question is searched for them, in bytes.
const MAX_QUESTION: usize = 4_000;

/// What counts as a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Special tokens, even after other text, and a whole response in plain JSON.
    Lenient,
    /// Special tokens.
    Tokens,
    /// Special tokens that make up the whole response.
    Whole,
}

/// Returns whether the model of this service may write calls as text.
pub(crate) fn are_read(service: &Service) -> bool {
    let Service { provider, facts, endpoint, .. } = service;
    let is_compatible = endpoint.is_own && provider.has_compatible_servers();
    *provider == Provider::Ollama || is_compatible && !(facts.is_known && facts.tools)
}

/// How the response to one request is read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(super) tools: Arc<[ToolSpec]>,
    pub(super) strictness: Strictness,
    messages: Arc<Vec<Arc<Message>>>,
}

impl Reading {
    /// Returns the reading for a request, or `None` if its response is not searched: the request offers no tools, the
    /// model has made a proper call in the conversation, or the response continues one that was cut off.
    pub(crate) fn of(request: &ModelRequest) -> Option<Self> {
        let mut calls = request.messages.iter().flat_map(|message| message.tool_calls());
        if request.tools.is_empty() || calls.any(|call| !is_text_call(&call.id)) {
            return None;
        }
        if is_continued(request) {
            return None;
        }
        let asked = request.messages.get(request.turn_start);
        let asked = asked.filter(|message| message.role == Role::User);
        let strictness = asked.map_or(Strictness::Lenient, |asked| strictness(asked));
        Some(Self { tools: request.tools.clone(), strictness, messages: request.messages.clone() })
    }

    /// Returns the reading that accepts every form of a call to these tools.
    pub(super) fn lenient(tools: &[ToolSpec]) -> Self {
        Self { tools: tools.into(), strictness: Strictness::Lenient, messages: Arc::default() }
    }

    /// Returns whether one of the calls merely quotes something in the conversation.
    pub(super) fn is_quotation(&self, calls: &[TextCall]) -> bool {
        is_quotation(calls, &self.messages)
    }
}

/// Returns whether the response continues one that was cut off, possibly in the middle of a code block.
pub(super) fn is_continued(request: &ModelRequest) -> bool {
    let own = request.messages.get(request.turn_start..).unwrap_or_default();
    let is_text =
        |message: &Message| message.role == Role::Assistant && message.tool_calls().next().is_none();
    matches!(own, [.., part, wish] if is_text(part) && wish.role == Role::User)
}

/// Returns the evidence required, given the question.
fn strictness(asked: &Message) -> Strictness {
    let texts: Vec<String> = asked.content.iter().filter_map(question).collect();
    let says = |word: &str| texts.iter().any(|text| text.contains(word));
    let mut openers = FAMILIES.iter().flat_map(|family| family.openers);
    if CALL_WORDS.iter().any(|word| says(word)) || openers.any(|opener| says(&opener.to_lowercase())) {
        Strictness::Whole
    } else if JSON_WORDS.iter().any(|word| says(word)) {
        Strictness::Tokens
    } else {
        Strictness::Lenient
    }
}

fn question(block: &Block) -> Option<String> {
    match block {
        Block::Text { text, .. } => Some(text[..text.floor_char_boundary(MAX_QUESTION)].to_lowercase()),
        _ => None,
    }
}

/// Converts the call to the form used by the rest of the program.
pub(super) fn tool_call(call: TextCall) -> ToolCall {
    ToolCall { id: format!("{TEXT_CALL}{}", unique()), name: call.name, input: call.input, opaque: None }
}

/// Returns whether a model wrote the call with this id into its text.
pub fn is_text_call(id: &str) -> bool {
    id.starts_with(TEXT_CALL)
}

#[cfg(test)]
impl Reading {
    /// Creates a reading for tests: these tools, and this question after these messages.
    pub(super) fn asked(tools: &[ToolSpec], question: &str, before: Vec<Arc<Message>>) -> Self {
        let mut messages = before;
        let turn_start = messages.len();
        let content = vec![Block::text(question)];
        messages.push(Arc::new(Message::new(Role::User, content, jiff::Timestamp::UNIX_EPOCH)));
        let request = crate::testing::request(messages).with_tools(tools).with_turn_start(turn_start);
        Self::of(&request).unwrap()
    }
}
