//! Reads a streamed Converse response: content blocks that open, grow and close.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::message::{Opaque, ToolCall};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::classify::{self, Report};
use crate::counted;
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Events, FAILURE, Progress, arguments};

/// More open blocks than any real response has.
const MAX_BLOCKS: usize = 256;

/// Reads one response.
pub(super) struct ConverseDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    open: BTreeMap<u64, Open>,
    has_calls: bool,
    told: usize,
    usage: UsageWire,
    stop: Option<String>,
    over: bool,
}

/// A block that is still growing.
enum Open {
    Text,
    Thinking { text: String, signature: String },
    Call { id: String, name: String, json: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockStart {
    content_block_index: u64,
    start: Option<Start>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    tool_use: Option<ToolUse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse {
    #[serde(default)]
    tool_use_id: String,
    #[serde(default)]
    name: String,
    /// Part of a response that is not streamed.
    input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockDelta {
    content_block_index: u64,
    delta: Delta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta {
    text: Option<String>,
    tool_use: Option<InputDelta>,
    reasoning_content: Option<ThoughtDelta>,
}

#[derive(Deserialize)]
struct InputDelta {
    #[serde(default)]
    input: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThoughtDelta {
    text: Option<String>,
    signature: Option<String>,
    redacted_content: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockStop {
    content_block_index: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageStop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default, deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct UsageWire {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

/// A response that is not streamed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
    output: Option<Output>,
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

#[derive(Deserialize)]
struct Output {
    message: Option<WholeMessage>,
}

#[derive(Deserialize)]
struct WholeMessage {
    #[serde(default)]
    content: Vec<WholeBlock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WholeBlock {
    text: Option<String>,
    tool_use: Option<ToolUse>,
    reasoning_content: Option<WholeThought>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WholeThought {
    reasoning_text: Option<ReasoningText>,
    redacted_content: Option<String>,
}

#[derive(Deserialize)]
struct ReasoningText {
    #[serde(default)]
    text: String,
    #[serde(default)]
    signature: String,
}

impl ConverseDecoder {
    pub(super) fn new(service: Arc<Service>, input_tokens: u64) -> Self {
        Self::with_ids(service, input_tokens, CallIds::random())
    }

    pub(super) fn with_ids(service: Arc<Service>, input_tokens: u64, ids: CallIds) -> Self {
        Self {
            service,
            input_tokens,
            ids,
            open: BTreeMap::new(),
            has_calls: false,
            told: 0,
            usage: UsageWire::default(),
            stop: None,
            over: false,
        }
    }

    fn read<T: DeserializeOwned>(&self, data: &str) -> Result<T, ModelError> {
        serde_json::from_str(data)
            .map_err(|error| classify::malformed(&self.service, &format!("an event: {error}")))
    }

    fn start(&mut self, start: BlockStart) -> Result<(), ModelError> {
        let Some(tool) = start.start.and_then(|start| start.tool_use) else { return Ok(()) };
        let id = if tool.tool_use_id.is_empty() { self.ids.make() } else { tool.tool_use_id };
        self.put(start.content_block_index, Open::Call { id, name: tool.name, json: String::new() })
    }

    fn put(&mut self, index: u64, open: Open) -> Result<(), ModelError> {
        if self.open.len() == MAX_BLOCKS {
            return Err(classify::malformed(&self.service, "too many content blocks are open"));
        }
        self.open.insert(index, open);
        Ok(())
    }

    fn grow(&mut self, grown: BlockDelta, events: &mut Events) -> Result<(), ModelError> {
        let BlockDelta { content_block_index: index, delta } = grown;
        // Only calls are opened by a separate event; a text or a thought begins with its first piece.
        if let Some(text) = delta.text {
            if !matches!(self.open.get(&index), Some(Open::Text)) {
                self.finish(index, events);
                self.put(index, Open::Text)?;
            }
            self.say(text, events);
        }
        if let Some(thought) = delta.reasoning_content {
            self.think(index, thought, events)?;
        }
        if let (Some(piece), Some(Open::Call { json, .. })) = (delta.tool_use, self.open.get_mut(&index)) {
            self.told += piece.input.len();
            json.push_str(&piece.input);
        }
        Ok(())
    }

    fn think(&mut self, index: u64, thought: ThoughtDelta, events: &mut Events) -> Result<(), ModelError> {
        if let Some(data) = thought.redacted_content {
            events.push_back(kept(json!({ "redactedContent": data }), String::new()));
        }
        if thought.text.is_none() && thought.signature.is_none() {
            return Ok(());
        }
        if !matches!(self.open.get(&index), Some(Open::Thinking { .. })) {
            self.finish(index, events);
            self.put(index, Open::Thinking { text: String::new(), signature: String::new() })?;
        }
        let more = thought.text.unwrap_or_default();
        if let Some(Open::Thinking { text, signature }) = self.open.get_mut(&index) {
            text.push_str(&more);
            signature.push_str(&thought.signature.unwrap_or_default());
        }
        if !more.is_empty() {
            self.told += more.len();
            events.push_back(ModelEvent::Reasoning(more));
        }
        Ok(())
    }

    fn finish(&mut self, index: u64, events: &mut Events) {
        if let Some(open) = self.open.remove(&index) {
            self.close(open, events);
        }
    }

    fn close(&mut self, open: Open, events: &mut Events) {
        match open {
            Open::Text => {}
            Open::Thinking { text, signature } if signature.is_empty() => {
                // Without its signature, a thought is not accepted back.
                events.push_back(ModelEvent::ReasoningDone { text, opaque: None });
            }
            Open::Thinking { text, signature } => {
                let data = json!({ "reasoningText": { "text": text, "signature": signature } });
                events.push_back(kept(data, text));
            }
            // A call without a name is a fragment that cannot run.
            Open::Call { name, .. } if name.is_empty() => {}
            Open::Call { id, name, json } => {
                self.has_calls = true;
                let input = arguments(&json);
                events.push_back(ModelEvent::ToolCall(ToolCall { id, name, input, opaque: None }));
            }
        }
    }

    fn whole(&mut self, whole: Whole, events: &mut Events) -> Result<(), ModelError> {
        let content =
            whole.output.and_then(|output| output.message).map(|message| message.content).unwrap_or_default();
        for block in content {
            if let Some(thought) = block.reasoning_content {
                if let Some(data) = thought.redacted_content {
                    events.push_back(kept(json!({ "redactedContent": data }), String::new()));
                }
                if let Some(ReasoningText { text, signature }) = thought.reasoning_text {
                    events.push_back(ModelEvent::Reasoning(text.clone()));
                    self.close(Open::Thinking { text, signature }, events);
                }
            }
            self.say(block.text.unwrap_or_default(), events);
            if let Some(tool) = block.tool_use {
                let id = if tool.tool_use_id.is_empty() { self.ids.make() } else { tool.tool_use_id };
                let json = tool.input.unwrap_or_else(|| Value::Object(Map::new())).to_string();
                self.close(Open::Call { id, name: tool.name, json }, events);
            }
        }
        self.stopped(whole.stop_reason)?;
        self.usage = whole.usage.unwrap_or_default();
        self.over = self.stop.is_some();
        Ok(())
    }

    fn stopped(&mut self, reason: Option<String>) -> Result<(), ModelError> {
        if let Some(reason @ ("malformed_tool_use" | "malformed_model_output")) = reason.as_deref() {
            let sentence = "The model on Amazon Bedrock gave an answer that cannot be understood; try again.";
            return Err(ModelError::new(ModelErrorKind::Malformed, sentence).with_detail(reason));
        }
        self.stop = reason.or_else(|| self.stop.take());
        Ok(())
    }

    fn say(&mut self, text: String, events: &mut Events) {
        if !text.is_empty() {
            self.told += text.len();
            events.push_back(ModelEvent::Text(text));
        }
    }

    fn usage(&self) -> Usage {
        let cached = self.usage.cache_read_input_tokens.unwrap_or(0);
        let written = self.usage.cache_write_input_tokens.unwrap_or(0);
        // The service counts cached tokens separately.
        let input = self.usage.input_tokens.map(|fresh| fresh.saturating_add(cached).saturating_add(written));
        Usage {
            input_tokens: estimate::unless_counted(input, self.input_tokens),
            output_tokens: estimate::unless_counted(self.usage.output_tokens, estimate::tokens(self.told)),
            cached_tokens: cached,
            cache_write_tokens: written,
            ..Usage::default()
        }
    }
}

fn kept(data: Value, text: String) -> ModelEvent {
    ModelEvent::ReasoningDone { text, opaque: Some(Opaque { dialect: DIALECT.into(), data }) }
}

impl Decoder for ConverseDecoder {
    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        if let Some(failure) = name.and_then(|name| name.strip_prefix(FAILURE)) {
            let report = Report::of_body(data.as_bytes()).with_code(failure);
            return Err(classify::reported(&self.service, &report));
        }
        match name {
            Some("contentBlockStart") => {
                let start = self.read(data)?;
                self.start(start)
            }
            Some("contentBlockDelta") => {
                let delta = self.read(data)?;
                self.grow(delta, events)
            }
            Some("contentBlockStop") => {
                let stop: BlockStop = self.read(data)?;
                self.finish(stop.content_block_index, events);
                Ok(())
            }
            Some("messageStop") => {
                let stop: MessageStop = self.read(data)?;
                // A stop without a reason is still an end.
                self.stopped(Some(stop.stop_reason.unwrap_or_default()))
            }
            Some("metadata") => {
                let metadata: Metadata = self.read(data)?;
                self.usage = metadata.usage.unwrap_or(self.usage);
                self.over = self.stop.is_some();
                Ok(())
            }
            None => {
                let whole = self.read(data)?;
                self.whole(whole, events)
            }
            // `messageStart`, and events of later versions.
            Some(_) => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        match (self.over, &self.stop) {
            (true, _) => Progress::Over,
            (false, Some(_)) => Progress::Complete,
            (false, None) => Progress::Running,
        }
    }

    fn end(&mut self, events: &mut Events) {
        // The output limit may leave a block open.
        for open in std::mem::take(&mut self.open).into_values() {
            self.close(open, events);
        }
        let stop = match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("guardrail_intervened" | "content_filtered" | "refusal") => StopReason::Refusal,
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        };
        // The service does not name the model.
        events.push_back(ModelEvent::Finished { stop, usage: self.usage(), model: None });
    }
}
