//! Reads a streamed response: items that are added, grow and are completed.
//!
//! The last event repeats the whole response. It is read only if nothing came before it, as from a server that does
//! not stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::message::{Opaque, ToolCall};
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use aethon_core::web_search::{Source, WebSearch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::DIALECT;
use crate::classify::{self, Report};
use crate::counted;
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Events, Progress, arguments};

/// More items than any real response has.
const MAX_ITEMS: usize = 1024;

/// Reads one response.
pub(super) struct ResponsesDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    /// Incomplete calls, by the item's index.
    open: BTreeMap<u64, Call>,
    /// Indices of completed items.
    done: Vec<u64>,
    thought: String,
    told: usize,
    has_text: bool,
    has_calls: bool,
    refused: bool,
    searches: u64,
    cited: Vec<Source>,
    model: Option<String>,
    usage: Option<UsageWire>,
    end: Option<End>,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Complete,
    Length,
    Filtered,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    delta: Option<Value>,
    arguments: Option<String>,
    annotation: Option<Value>,
    item: Option<Item>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    content: Option<Vec<Part>>,
    summary: Option<Vec<Part>>,
    encrypted_content: Option<String>,
    /// What a search did.
    action: Option<Value>,
    status: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
    annotations: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Response {
    model: Option<String>,
    status: Option<String>,
    output: Option<Vec<Item>>,
    #[serde(default, deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
struct UsageWire {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize, Clone, Copy)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

impl ResponsesDecoder {
    pub(super) fn new(service: Arc<Service>, input_tokens: u64) -> Self {
        Self::with_ids(service, input_tokens, CallIds::random())
    }

    pub(super) fn with_ids(service: Arc<Service>, input_tokens: u64, ids: CallIds) -> Self {
        Self {
            service,
            input_tokens,
            ids,
            open: BTreeMap::new(),
            done: Vec::new(),
            thought: String::new(),
            told: 0,
            has_text: false,
            has_calls: false,
            refused: false,
            searches: 0,
            cited: Vec::new(),
            model: None,
            usage: None,
            end: None,
        }
    }

    fn event(&mut self, event: Event, events: &mut Events) -> Result<(), ModelError> {
        let delta = match event.delta {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        match event.kind.as_str() {
            "response.created" | "response.in_progress" => {
                self.model = event.response.and_then(|response| response.model).or(self.model.take());
            }
            "response.output_item.added" => {
                if let Some(item) = event.item.filter(|item| item.kind == "function_call") {
                    self.add(event.output_index, item)?;
                }
            }
            "response.output_text.delta" => self.say(delta, events),
            "response.refusal.delta" => {
                self.refused = true;
                self.say(delta, events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think(delta, events);
            }
            // Parts of a summary are paragraphs.
            "response.reasoning_summary_part.added" if !self.thought.is_empty() => {
                self.think("\n\n".into(), events);
            }
            "response.output_text.annotation.added" => {
                self.cited.extend(event.annotation.as_ref().and_then(cited));
            }
            "response.function_call_arguments.delta" => {
                self.told += delta.len();
                if let Some(call) = self.open.get_mut(&event.output_index) {
                    call.arguments.push_str(&delta);
                }
            }
            "response.function_call_arguments.done" => {
                if let (Some(call), Some(whole)) = (self.open.get_mut(&event.output_index), event.arguments) {
                    call.arguments = whole;
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item(event.output_index, item, events)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                if let Some(response) = event.response {
                    self.response(response, events)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, place: u64, item: Item) -> Result<(), ModelError> {
        if self.open.len() + self.done.len() >= MAX_ITEMS {
            return Err(classify::malformed(&self.service, "too many items in one answer"));
        }
        let call = Call {
            id: item.call_id.unwrap_or_default(),
            name: item.name.unwrap_or_default(),
            arguments: item.arguments.unwrap_or_default(),
        };
        self.open.insert(place, call);
        Ok(())
    }

    /// Handles a complete item.
    fn item(&mut self, place: u64, item: Item, events: &mut Events) -> Result<(), ModelError> {
        if self.done.contains(&place) {
            return Ok(());
        }
        if self.done.len() >= MAX_ITEMS {
            return Err(classify::malformed(&self.service, "too many items in one answer"));
        }
        self.done.push(place);
        match item.kind.as_str() {
            "function_call" => {
                let begun = self.open.remove(&place).unwrap_or_default();
                self.call(
                    Call {
                        id: item.call_id.filter(|id| !id.is_empty()).unwrap_or(begun.id),
                        name: item.name.filter(|name| !name.is_empty()).unwrap_or(begun.name),
                        arguments: item.arguments.unwrap_or(begun.arguments),
                    },
                    events,
                );
            }
            "reasoning" => self.reasoning(item, events),
            "web_search_call" => self.search(item, events),
            // Its text was already emitted, unless no piece of it came.
            "message" if !self.has_text => {
                for part in item.content.unwrap_or_default() {
                    self.cited.extend(part.annotations.iter().flatten().filter_map(cited));
                    self.refused |= part.refusal.is_some();
                    self.say(part.text.or(part.refusal).unwrap_or_default(), events);
                }
            }
            "message" => self.has_text = false,
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, call: Call, events: &mut Events) {
        self.end_thought(events);
        // A call without a name is a fragment that cannot run.
        if call.name.is_empty() {
            return;
        }
        self.has_calls = true;
        let id = if call.id.is_empty() { self.ids.make() } else { call.id };
        let input = arguments(&call.arguments);
        events.push_back(ModelEvent::ToolCall(ToolCall { id, name: call.name, input, opaque: None }));
    }

    fn reasoning(&mut self, item: Item, events: &mut Events) {
        let texts = |parts: &Option<Vec<Part>>| {
            let parts = parts.as_deref().unwrap_or_default();
            parts.iter().filter_map(|part| part.text.clone()).collect::<Vec<_>>()
        };
        let summary = texts(&item.summary);
        if self.thought.is_empty() {
            let whole = if summary.is_empty() { texts(&item.content) } else { summary.clone() };
            self.think(whole.join("\n\n"), events);
        }
        let text = std::mem::take(&mut self.thought);
        // Without its encrypted part, the service does not recognise a thought.
        let opaque = item.encrypted_content.filter(|content| !content.is_empty()).map(|content| {
            let summary: Vec<Value> =
                summary.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
            let mut data = json!({ "type": "reasoning", "summary": summary, "encrypted_content": content });
            if let Some(id) = item.id {
                data["id"] = id.into();
            }
            Opaque { dialect: DIALECT.into(), data }
        });
        if !text.is_empty() || opaque.is_some() {
            events.push_back(ModelEvent::ReasoningDone { text, opaque });
        }
    }

    /// Handles a search that the service ran. Nothing is stored there, so the item goes back unchanged.
    fn search(&mut self, item: Item, events: &mut Events) {
        self.end_thought(events);
        let action = item.action.unwrap_or_default();
        let field = |name: &str| action.get(name).and_then(Value::as_str);
        // Without its action, the service does not accept a search back.
        let Some(kind) = field("type") else { return };
        self.searches += u64::from(kind == "search");
        let first = || action.pointer("/queries/0").and_then(Value::as_str);
        let query = field("query").or_else(first).or(field("url")).unwrap_or_default().to_owned();
        let pages = action.get("sources").and_then(Value::as_array);
        let sources = pages.into_iter().flatten().filter_map(page).collect();
        let mut data = json!({ "type": "web_search_call", "status": item.status, "action": action });
        if let Some(id) = item.id {
            data["id"] = id.into();
        }
        let opaque = Some(Opaque { dialect: DIALECT.into(), data });
        events.push_back(ModelEvent::Search(WebSearch { query, sources, opaque }));
    }

    /// Handles the whole response.
    fn response(&mut self, response: Response, events: &mut Events) -> Result<(), ModelError> {
        self.model = response.model.or(self.model.take());
        self.usage = response.usage.or(self.usage);
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        let reason = response.incomplete_details.and_then(|details| details.reason);
        self.end = Some(match (response.status.as_deref(), reason.as_deref()) {
            (Some("failed" | "cancelled"), _) => {
                return Err(classify::reported(&self.service, &Report::of_body(b"")));
            }
            (_, Some("content_filter")) => End::Filtered,
            (Some("incomplete"), _) | (_, Some(_)) => End::Length,
            _ => End::Complete,
        });
        // Only if no event was emitted before, so that nothing is emitted twice.
        if self.told == 0 && self.done.is_empty() && self.open.is_empty() {
            for (place, item) in (0..).zip(response.output.unwrap_or_default()) {
                self.item(place, item, events)?;
            }
        }
        Ok(())
    }

    fn say(&mut self, text: String, events: &mut Events) {
        if !text.is_empty() {
            self.end_thought(events);
            self.has_text = true;
            self.told += text.len();
            events.push_back(ModelEvent::Text(text));
        }
    }

    fn think(&mut self, text: String, events: &mut Events) {
        if !text.is_empty() {
            self.told += text.len();
            self.thought.push_str(&text);
            events.push_back(ModelEvent::Reasoning(text));
        }
    }

    fn end_thought(&mut self, events: &mut Events) {
        if !self.thought.is_empty() {
            let text = std::mem::take(&mut self.thought);
            events.push_back(ModelEvent::ReasoningDone { text, opaque: None });
        }
    }

    fn usage(&self) -> Usage {
        let counted = self.usage;
        let cached = counted.and_then(|usage| usage.input_tokens_details?.cached_tokens);
        Usage {
            input_tokens: estimate::unless_counted(
                counted.and_then(|usage| usage.input_tokens),
                self.input_tokens,
            ),
            output_tokens: estimate::unless_counted(
                counted.and_then(|usage| usage.output_tokens),
                estimate::tokens(self.told),
            ),
            cached_tokens: cached.unwrap_or(0),
            web_searches: self.searches,
            ..Usage::default()
        }
    }
}

/// Returns the page that an annotation cites.
fn cited(annotation: &Value) -> Option<Source> {
    let is_page = annotation.get("type").and_then(Value::as_str) == Some("url_citation");
    page(annotation).filter(|_| is_page)
}

fn page(value: &Value) -> Option<Source> {
    let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    Source::new(field("url"), field("title"))
}

impl Decoder for ResponsesDecoder {
    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let malformed =
            |error: serde_json::Error| classify::malformed(&self.service, &format!("an event: {error}"));
        let value: Value = serde_json::from_str(data).map_err(malformed)?;
        let kind = value.get("type").and_then(Value::as_str).or(name).unwrap_or_default();
        let is_error =
            kind == "error" || (kind.is_empty() && value.get("error").is_some_and(Value::is_object));
        if is_error {
            return Err(classify::reported(&self.service, &Report::of_value(&value)));
        }
        // A response that is not streamed is not an event.
        if value.get("object").and_then(Value::as_str) == Some("response") {
            let response = serde_json::from_value(value).map_err(malformed)?;
            return self.response(response, events);
        }
        let kind = kind.to_owned();
        let event: Event = serde_json::from_value(value).map_err(malformed)?;
        self.event(Event { kind, ..event }, events)
    }

    fn progress(&self) -> Progress {
        if self.end.is_some() { Progress::Over } else { Progress::Running }
    }

    fn end(&mut self, events: &mut Events) {
        self.end_thought(events);
        // The output limit may leave a call open.
        for call in std::mem::take(&mut self.open).into_values() {
            self.call(call, events);
        }
        let stop = match self.end {
            _ if self.refused => StopReason::Refusal,
            Some(End::Filtered) => StopReason::Refusal,
            Some(End::Length) => StopReason::Length,
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        };
        if !self.cited.is_empty() {
            events.push_back(ModelEvent::Sources(std::mem::take(&mut self.cited)));
        }
        events.push_back(ModelEvent::Finished { stop, usage: self.usage(), model: self.model.take() });
    }
}
