//! Reads a streamed Converse response: content blocks that open, grow and close.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::message::{Opaque, ToolCall};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::DIALECT;
use crate::classify::{self, Report};
use crate::counted::{self, within};
use crate::estimate;
use crate::service::Service;
use crate::stream::{
    CallIds, Decoder, Ending, Events, FAILURE, Progress, arguments, arguments_of, loose, tool_name,
};

/// More open blocks than any real response has.
const MAX_BLOCKS: usize = 256;

/// Reads one response.
pub(super) struct ConverseDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    open: BTreeMap<i64, Open>,
    has_calls: bool,
    told: usize,
    usage: UsageWire,
    stop: Option<Ending>,
    over: bool,
}

/// A block that is still growing.
enum Open {
    Text,
    Thinking { text: String, signature: String },
    Call { id: String, name: String, json: String },
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct BlockStart {
    #[serde(deserialize_with = "loose::index")]
    content_block_index: Option<i64>,
    #[serde(deserialize_with = "loose::maybe")]
    start: Option<Start>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Start {
    #[serde(deserialize_with = "loose::maybe")]
    tool_use: Option<ToolUse>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ToolUse {
    #[serde(deserialize_with = "loose::text")]
    tool_use_id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    name: Option<String>,
    /// Part of a response that is not streamed.
    input: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct BlockDelta {
    #[serde(deserialize_with = "loose::index")]
    content_block_index: Option<i64>,
    #[serde(deserialize_with = "loose::maybe")]
    delta: Option<Delta>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Delta {
    #[serde(deserialize_with = "loose::text")]
    text: Option<String>,
    #[serde(deserialize_with = "loose::maybe")]
    tool_use: Option<InputDelta>,
    #[serde(deserialize_with = "loose::maybe")]
    reasoning_content: Option<ThoughtDelta>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputDelta {
    input: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ThoughtDelta {
    #[serde(deserialize_with = "loose::text")]
    text: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    signature: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    redacted_content: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct BlockStop {
    #[serde(deserialize_with = "loose::index")]
    content_block_index: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct MessageStop {
    #[serde(deserialize_with = "loose::text")]
    stop_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase", default)]
struct UsageWire {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_write_input_tokens: Option<u64>,
}

/// A response that is not streamed.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Whole {
    #[serde(deserialize_with = "loose::maybe")]
    output: Option<Output>,
    #[serde(deserialize_with = "loose::text")]
    stop_reason: Option<String>,
    #[serde(deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Output {
    #[serde(deserialize_with = "loose::maybe")]
    message: Option<WholeMessage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WholeMessage {
    #[serde(deserialize_with = "loose::list")]
    content: Vec<WholeBlock>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WholeBlock {
    #[serde(deserialize_with = "loose::text")]
    text: Option<String>,
    #[serde(deserialize_with = "loose::maybe")]
    tool_use: Option<ToolUse>,
    #[serde(deserialize_with = "loose::maybe")]
    reasoning_content: Option<WholeThought>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct WholeThought {
    #[serde(deserialize_with = "loose::maybe")]
    reasoning_text: Option<ReasoningText>,
    #[serde(deserialize_with = "loose::text")]
    redacted_content: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReasoningText {
    #[serde(deserialize_with = "loose::text")]
    text: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    signature: Option<String>,
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
        let id = tool.tool_use_id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.ids.make());
        let name = tool.name.unwrap_or_default();
        self.put(start.content_block_index.unwrap_or(0), Open::Call { id, name, json: String::new() })
    }

    fn put(&mut self, index: i64, open: Open) -> Result<(), ModelError> {
        if self.open.len() == MAX_BLOCKS {
            return Err(classify::malformed(&self.service, "too many content blocks are open"));
        }
        self.open.insert(index, open);
        Ok(())
    }

    fn grow(&mut self, grown: BlockDelta, events: &mut Events) -> Result<(), ModelError> {
        let (index, delta) = (grown.content_block_index.unwrap_or(0), grown.delta.unwrap_or_default());
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
            let piece = match piece.input {
                Some(Value::String(piece)) => piece,
                None | Some(Value::Null) => String::new(),
                Some(whole) => whole.to_string(),
            };
            self.told += piece.len();
            json.push_str(&piece);
        }
        Ok(())
    }

    fn think(&mut self, index: i64, thought: ThoughtDelta, events: &mut Events) -> Result<(), ModelError> {
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

    fn finish(&mut self, index: i64, events: &mut Events) {
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
                let (name, input) = (tool_name(&name), arguments(&json));
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
                if let Some(thought) = thought.reasoning_text {
                    let text = thought.text.unwrap_or_default();
                    let signature = thought.signature.unwrap_or_default();
                    events.push_back(ModelEvent::Reasoning(text.clone()));
                    self.close(Open::Thinking { text, signature }, events);
                }
            }
            self.say(block.text.unwrap_or_default(), events);
            if let Some(tool) = block.tool_use {
                let id = tool.tool_use_id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.ids.make());
                let (name, json) = (tool.name.unwrap_or_default(), arguments_of(tool.input).to_string());
                self.close(Open::Call { id, name, json }, events);
            }
        }
        self.usage = whole.usage.unwrap_or_default();
        if let Some(reason) = whole.stop_reason {
            self.stopped(&reason)?;
        }
        self.over = self.stop.is_some();
        Ok(())
    }

    fn stopped(&mut self, reason: &str) -> Result<(), ModelError> {
        let ending = Ending::of(reason);
        let has_nothing = self.told == 0 && !self.has_calls && self.open.is_empty();
        match ending {
            Ending::GaveUp if reason.starts_with("malformed") => {
                let sentence =
                    "The model on Amazon Bedrock gave an answer that cannot be understood; try again.";
                Err(ModelError::new(ModelErrorKind::Overloaded, sentence).with_detail(reason))
            }
            Ending::GaveUp => Err(classify::gave_up(&self.service, reason)),
            Ending::Window if has_nothing => Err(classify::window_full(&self.service)),
            _ => {
                self.stop = Some(ending);
                Ok(())
            }
        }
    }

    fn say(&mut self, text: String, events: &mut Events) {
        if !text.is_empty() {
            self.told += text.len();
            events.push_back(ModelEvent::Text(text));
        }
    }

    fn usage(&self) -> Usage {
        let cached = within(self.usage.cache_read_input_tokens, u64::MAX);
        let written = within(self.usage.cache_write_input_tokens, u64::MAX);
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
                self.finish(stop.content_block_index.unwrap_or(0), events);
                Ok(())
            }
            Some("messageStop") => {
                let stop: MessageStop = self.read(data)?;
                // A stop without a reason is still an end.
                self.stopped(&stop.stop_reason.unwrap_or_default())
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
        let stop = match self.stop {
            Some(Ending::Length) => StopReason::Length,
            Some(Ending::Window) => StopReason::Window,
            Some(Ending::Refused) => StopReason::Refusal,
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        };
        // The service does not name the model.
        events.push_back(ModelEvent::Finished { stop, usage: self.usage(), model: None });
    }
}
