//! Reads a streamed message: content blocks that open, grow and close.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::message::{Opaque, ToolCall};
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use aethon_core::web_search::{Source, WEB_SEARCH};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{DIALECT, search};
use crate::classify::{self, Report};
use crate::counted;
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Events, Progress, arguments};

/// More open blocks than any real response has.
const MAX_BLOCKS: usize = 256;

/// Reads one response.
pub(super) struct MessagesDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    open: BTreeMap<u64, Open>,
    has_calls: bool,
    /// Searches whose results are not here yet.
    searches: Vec<Value>,
    cited: Vec<Source>,
    told: usize,
    model: Option<String>,
    usage: UsageWire,
    stop: Option<String>,
    over: bool,
}

/// A block that is still growing.
enum Open {
    Text,
    Thinking {
        text: String,
        signature: String,
    },
    /// A thought that only the service can read.
    Redacted(Value),
    Call {
        id: String,
        name: String,
        given: Value,
        json: String,
    },
    /// A call of a tool that the service runs itself; its input comes in pieces.
    ServerCall {
        block: Value,
        json: String,
    },
    /// What a web search found.
    Found(Value),
    /// Of an unknown kind; skipped.
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: MessageDelta,
        #[serde(default, deserialize_with = "counted::counts")]
        usage: Option<UsageWire>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// A whole message, from a service that does not stream.
    Message(Box<Whole>),
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Start {
    model: Option<String>,
    #[serde(default, deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "citations_delta")]
    Citation { citation: Value },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    content: Vec<Value>,
    model: Option<String>,
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

/// Each figure may come early, late, or twice; the last one counts.
#[derive(Deserialize, Default, Clone, Copy)]
struct UsageWire {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    server_tool_use: Option<ServerToolUse>,
}

#[derive(Deserialize, Default, Clone, Copy)]
struct ServerToolUse {
    web_search_requests: Option<u64>,
}

impl UsageWire {
    fn update(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else { return };
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.server_tool_use = newer.server_tool_use.or(self.server_tool_use);
    }
}

impl MessagesDecoder {
    pub(super) fn new(service: Arc<Service>, input_tokens: u64) -> Self {
        Self {
            service,
            input_tokens,
            ids: CallIds::random(),
            open: BTreeMap::new(),
            has_calls: false,
            searches: Vec::new(),
            cited: Vec::new(),
            told: 0,
            model: None,
            usage: UsageWire::default(),
            stop: None,
            over: false,
        }
    }

    fn start(&mut self, index: u64, block: Value, events: &mut Events) -> Result<(), ModelError> {
        if self.open.len() == MAX_BLOCKS {
            return Err(classify::malformed(&self.service, "too many content blocks are open"));
        }
        let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let open = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                self.say(field("text"), events);
                Open::Text
            }
            Some("thinking") => {
                self.think(&field("thinking"), events);
                Open::Thinking { text: field("thinking"), signature: field("signature") }
            }
            Some("redacted_thinking") => Open::Redacted(block),
            Some("tool_use") => {
                let id = Some(field("id")).filter(|id| !id.is_empty()).unwrap_or_else(|| self.ids.make());
                let given = block.get("input").cloned().unwrap_or_default();
                Open::Call { id, name: field("name"), given, json: String::new() }
            }
            Some("server_tool_use") if field("name") == WEB_SEARCH => {
                Open::ServerCall { block, json: String::new() }
            }
            Some("web_search_tool_result") => Open::Found(block),
            _ => Open::Other,
        };
        self.open.insert(index, open);
        Ok(())
    }

    fn grow(&mut self, index: u64, delta: Delta, events: &mut Events) {
        match (self.open.get_mut(&index), delta) {
            // Accept text even if its block was never opened.
            (Some(Open::Text) | None, Delta::Text { text }) => self.say(text, events),
            (Some(Open::Thinking { text, .. }), Delta::Thinking { thinking }) => {
                text.push_str(&thinking);
                self.think(&thinking, events);
            }
            (Some(Open::Thinking { signature, .. }), Delta::Signature { signature: more }) => {
                signature.push_str(&more);
            }
            (Some(Open::Call { json, .. }), Delta::InputJson { partial_json }) => {
                self.told += partial_json.len();
                json.push_str(&partial_json);
            }
            (Some(Open::ServerCall { json, .. }), Delta::InputJson { partial_json }) => {
                json.push_str(&partial_json);
            }
            (_, Delta::Citation { citation }) => self.cited.extend(search::source(&citation)),
            _ => {}
        }
    }

    fn close(&mut self, open: Open, events: &mut Events) {
        match open {
            Open::Text | Open::Other => {}
            Open::ServerCall { mut block, json } => {
                if !json.is_empty() {
                    block["input"] = arguments(&json);
                }
                self.searches.push(block);
            }
            Open::Found(found) => {
                let id = found.get("tool_use_id").and_then(Value::as_str);
                let is_its = |call: &Value| call.get("id").and_then(Value::as_str) == id;
                let call = self.searches.iter().position(is_its).map(|place| self.searches.remove(place));
                events.push_back(search::found(call, Some(found)));
            }
            Open::Thinking { text, signature } => {
                let data = json!({ "type": "thinking", "thinking": text, "signature": signature });
                // Without its signature, the service does not accept a thought back.
                let opaque = (!signature.is_empty()).then(|| Opaque { dialect: DIALECT.into(), data });
                events.push_back(ModelEvent::ReasoningDone { text, opaque });
            }
            Open::Redacted(data) => {
                let opaque = Some(Opaque { dialect: DIALECT.into(), data });
                events.push_back(ModelEvent::ReasoningDone { text: String::new(), opaque });
            }
            Open::Call { id, name, given, json } => {
                let input = if json.is_empty() && given.is_object() { given } else { arguments(&json) };
                self.has_calls = true;
                events.push_back(ModelEvent::ToolCall(ToolCall { id, name, input, opaque: None }));
            }
        }
    }

    fn whole(&mut self, message: Whole, events: &mut Events) -> Result<(), ModelError> {
        for (index, block) in (0..).zip(message.content) {
            self.start(index, block, events)?;
            if let Some(open) = self.open.remove(&index) {
                self.close(open, events);
            }
        }
        self.model = message.model;
        self.usage.update(message.usage);
        self.stop = message.stop_reason;
        self.over = true;
        Ok(())
    }

    fn say(&mut self, text: String, events: &mut Events) {
        if !text.is_empty() {
            self.told += text.len();
            events.push_back(ModelEvent::Text(text));
        }
    }

    fn think(&mut self, text: &str, events: &mut Events) {
        if !text.is_empty() {
            self.told += text.len();
            events.push_back(ModelEvent::Reasoning(text.to_owned()));
        }
    }

    fn usage(&self) -> Usage {
        let cached = self.usage.cache_read_input_tokens.unwrap_or(0);
        let written = self.usage.cache_creation_input_tokens.unwrap_or(0);
        // The service counts cached tokens separately.
        let input = self.usage.input_tokens.map(|fresh| fresh.saturating_add(cached).saturating_add(written));
        Usage {
            input_tokens: estimate::unless_counted(input, self.input_tokens),
            output_tokens: estimate::unless_counted(self.usage.output_tokens, estimate::tokens(self.told)),
            cached_tokens: cached,
            cache_write_tokens: written,
            web_searches: self.usage.server_tool_use.and_then(|used| used.web_search_requests).unwrap_or(0),
            ..Usage::default()
        }
    }
}

impl Decoder for MessagesDecoder {
    fn frame(&mut self, _name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        if data.trim().is_empty() {
            return Ok(());
        }
        let event: Event = serde_json::from_str(data)
            .map_err(|error| classify::malformed(&self.service, &format!("an event: {error}")))?;
        match event {
            Event::MessageStart { message } => {
                self.model = message.model;
                self.usage.update(message.usage);
            }
            Event::ContentBlockStart { index, content_block } => self.start(index, content_block, events)?,
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta, events),
            Event::ContentBlockStop { index } => {
                if let Some(open) = self.open.remove(&index) {
                    self.close(open, events);
                }
            }
            Event::MessageDelta { delta, usage } => {
                self.stop = delta.stop_reason.or(self.stop.take());
                self.usage.update(usage);
            }
            Event::MessageStop => self.over = true,
            Event::Error { error } => {
                return Err(classify::reported(&self.service, &Report::of_value(&error)));
            }
            Event::Message(message) => self.whole(*message, events)?,
            Event::Unknown => {}
        }
        Ok(())
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
            Some("refusal") => StopReason::Refusal,
            Some("pause_turn") => StopReason::Pause,
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        };
        if stop == StopReason::Pause {
            // The service goes on with a search that it has not finished.
            for call in std::mem::take(&mut self.searches) {
                events.push_back(search::found(Some(call), None));
            }
        }
        if !self.cited.is_empty() {
            events.push_back(ModelEvent::Sources(std::mem::take(&mut self.cited)));
        }
        events.push_back(ModelEvent::Finished { stop, usage: self.usage(), model: self.model.take() });
    }
}
