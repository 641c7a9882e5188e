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
use crate::counted::{self, or_newer, within};
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Ending, Events, Progress, arguments, arguments_of, loose, tool_name};

/// More open blocks than any real response has.
const MAX_BLOCKS: usize = 256;

/// Reads one response.
pub(super) struct MessagesDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    open: BTreeMap<i64, Open>,
    has_calls: bool,
    /// Searches whose results are not here yet.
    searches: Vec<Value>,
    cited: Vec<Source>,
    told: usize,
    model: Option<String>,
    usage: UsageWire,
    stop: Option<Ending>,
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
        given: Option<Value>,
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

/// An event of any kind.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Event {
    #[serde(rename = "type", deserialize_with = "loose::text")]
    kind: Option<String>,
    #[serde(deserialize_with = "loose::index")]
    index: Option<i64>,
    #[serde(deserialize_with = "loose::maybe")]
    message: Option<Message>,
    #[serde(deserialize_with = "loose::maybe")]
    content_block: Option<Value>,
    #[serde(deserialize_with = "loose::maybe")]
    delta: Option<Delta>,
    error: Option<Value>,
    /// Of the message that an event may be, from a service that does not stream.
    #[serde(flatten)]
    whole: Message,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    content: Option<Value>,
    #[serde(deserialize_with = "loose::text")]
    model: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    stop_reason: Option<String>,
    #[serde(deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
}

/// Whatever a block grows by; the field says what it is.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Delta {
    #[serde(deserialize_with = "loose::text")]
    text: Option<String>,
    partial_json: Option<Value>,
    citation: Option<Value>,
    #[serde(deserialize_with = "loose::text")]
    thinking: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    signature: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    stop_reason: Option<String>,
}

/// Each figure may come early, late, or twice; the last one counts.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct UsageWire {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    server_tool_use: Option<ServerToolUse>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct ServerToolUse {
    web_search_requests: Option<u64>,
}

impl UsageWire {
    fn update(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else { return };
        or_newer(&mut self.input_tokens, newer.input_tokens);
        or_newer(&mut self.output_tokens, newer.output_tokens);
        or_newer(&mut self.cache_read_input_tokens, newer.cache_read_input_tokens);
        or_newer(&mut self.cache_creation_input_tokens, newer.cache_creation_input_tokens);
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

    fn start(&mut self, index: i64, block: Value, events: &mut Events) -> Result<(), ModelError> {
        if self.open.len() == MAX_BLOCKS {
            return Err(classify::malformed(&self.service, "too many content blocks are open"));
        }
        let field = |name: &str| block.get(name).cloned().and_then(loose::text_of).unwrap_or_default();
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
                let given = block.get("input").cloned();
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

    fn grow(&mut self, index: i64, delta: Delta, events: &mut Events) {
        let Delta { text, partial_json, thinking, signature, citation, .. } = delta;
        if let Some(citation) = citation.filter(|citation| !citation.is_null()) {
            self.cited.extend(search::source(&citation));
            return;
        }
        let piece = match partial_json {
            Some(Value::String(piece)) => piece,
            None | Some(Value::Null) => String::new(),
            Some(whole) => whole.to_string(),
        };
        match self.open.get_mut(&index) {
            // Accept text even if its block was never opened.
            Some(Open::Text) | None => self.say(text.unwrap_or_default(), events),
            Some(Open::Thinking { text, signature: whole }) => {
                let thinking = thinking.unwrap_or_default();
                text.push_str(&thinking);
                whole.push_str(&signature.unwrap_or_default());
                self.think(&thinking, events);
            }
            Some(Open::ServerCall { json, .. }) => json.push_str(&piece),
            Some(Open::Call { json, .. }) => {
                self.told += piece.len();
                json.push_str(&piece);
            }
            Some(Open::Redacted(_) | Open::Found(_) | Open::Other) => {}
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
            // A call without a name is a fragment that cannot run.
            Open::Call { name, .. } if name.is_empty() => {}
            Open::Call { id, name, given, json } => {
                let input = if json.trim().is_empty() { arguments_of(given) } else { arguments(&json) };
                let name = tool_name(&name);
                self.has_calls = true;
                events.push_back(ModelEvent::ToolCall(ToolCall { id, name, input, opaque: None }));
            }
        }
    }

    /// Reads a whole message. After its pieces, it only repeats them.
    fn whole(&mut self, message: Message, events: &mut Events) -> Result<(), ModelError> {
        let blocks = match message.content {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
            _ => Vec::new(),
        };
        let is_new = self.told == 0 && !self.has_calls && self.open.is_empty();
        for (index, block) in (0..).zip(blocks).filter(|_| is_new) {
            self.start(index, block, events)?;
            if let Some(open) = self.open.remove(&index) {
                self.close(open, events);
            }
        }
        self.model = message.model.or(self.model.take());
        self.usage.update(message.usage);
        self.stopped(message.stop_reason)?;
        self.over = true;
        Ok(())
    }

    fn stopped(&mut self, reason: Option<String>) -> Result<(), ModelError> {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return Ok(()) };
        let ending = Ending::of(&reason);
        let has_nothing = self.told == 0 && !self.has_calls;
        match ending {
            Ending::GaveUp => Err(classify::gave_up(&self.service, &reason)),
            Ending::Window if has_nothing => Err(classify::window_full(&self.service)),
            _ => {
                self.stop = Some(ending);
                Ok(())
            }
        }
    }

    fn event(&mut self, event: Event, events: &mut Events) -> Result<(), ModelError> {
        let index = event.index.unwrap_or(0);
        match event.kind.as_deref() {
            Some("message_start") => {
                let message = event.message.unwrap_or_default();
                self.model = message.model;
                self.usage.update(message.usage);
                Ok(())
            }
            Some("content_block_start") => match event.content_block {
                Some(block) => self.start(index, block, events),
                None => Ok(()),
            },
            Some("content_block_delta") => {
                self.grow(index, event.delta.unwrap_or_default(), events);
                Ok(())
            }
            Some("content_block_stop") => {
                if let Some(open) = self.open.remove(&index) {
                    self.close(open, events);
                }
                Ok(())
            }
            Some("message_delta") => {
                self.usage.update(event.whole.usage);
                self.stopped(event.delta.and_then(|delta| delta.stop_reason))
            }
            Some("message_stop") => {
                self.over = true;
                Ok(())
            }
            Some("error") => {
                let error = event.error.unwrap_or_default();
                Err(classify::reported(&self.service, &Report::of_value(&error)))
            }
            Some("message") => self.whole(event.whole, events),
            _ => Ok(()),
        }
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
        // The parts are no part of a whole here, so only the impossible ones are left out.
        let cached = within(self.usage.cache_read_input_tokens, u64::MAX);
        let written = within(self.usage.cache_creation_input_tokens, u64::MAX);
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
        self.event(event, events)
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
            Some(Ending::Pause) => StopReason::Pause,
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
