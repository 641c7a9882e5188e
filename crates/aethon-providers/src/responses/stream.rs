//! Reads a streamed response: items that are added, grow and are completed.
//!
//! The last event repeats the whole response. It is read only if nothing came before it, as from a server that does
//! not stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::message::{Opaque, ToolCall};
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use aethon_core::web_search::{Source, WebSearch};
use serde_json::{Value, json};

use super::DIALECT;
use super::events::{Event, Item, Part, Response, UsageWire, parts, piece};
use crate::classify::{self, Report};
use crate::counted::{beyond, within};
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Ending, Events, Progress, arguments, loose, tool_name};

/// More items than any real response has.
const MAX_ITEMS: usize = 1024;

/// Reads one response.
pub(super) struct ResponsesDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    /// Incomplete calls, by the item's index.
    open: BTreeMap<i64, Call>,
    /// Indices of completed items.
    done: Vec<i64>,
    thought: String,
    told: usize,
    has_text: bool,
    has_calls: bool,
    refused: bool,
    searches: u64,
    cited: Vec<Source>,
    model: Option<String>,
    usage: Option<UsageWire>,
    end: Option<Ending>,
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
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
        let place = event.output_index.unwrap_or(0);
        match event.kind.as_deref().unwrap_or_default() {
            "response.created" | "response.in_progress" => {
                self.model = event.response.and_then(|response| response.model).or(self.model.take());
            }
            "response.output_item.added" => {
                if let Some(item) = event.item.filter(|item| item.kind.as_deref() == Some("function_call")) {
                    self.add(place, item)?;
                }
            }
            "response.output_text.delta" => {
                self.say(event.delta.and_then(loose::text_of).unwrap_or_default(), events)
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.say(event.delta.and_then(loose::text_of).unwrap_or_default(), events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think(event.delta.and_then(loose::text_of).unwrap_or_default(), events);
            }
            // Parts of a summary are paragraphs.
            "response.reasoning_summary_part.added" if !self.thought.is_empty() => {
                self.think("\n\n".into(), events);
            }
            "response.output_text.annotation.added" => {
                self.cited.extend(event.annotation.as_ref().and_then(cited));
            }
            "response.function_call_arguments.delta" => {
                let piece = piece(event.delta);
                self.told += piece.len();
                if let Some(call) = self.open.get_mut(&place) {
                    call.arguments.push_str(&piece);
                }
            }
            "response.function_call_arguments.done" => {
                let whole = piece(event.arguments);
                if let Some(call) = self.open.get_mut(&place).filter(|_| !whole.is_empty()) {
                    call.arguments = whole;
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item(place, item, events)?;
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

    fn add(&mut self, place: i64, item: Item) -> Result<(), ModelError> {
        if self.open.len() + self.done.len() >= MAX_ITEMS {
            return Err(classify::malformed(&self.service, "too many items in one answer"));
        }
        let call = Call {
            id: item.call_id.unwrap_or_default(),
            name: item.name.unwrap_or_default(),
            arguments: piece(item.arguments),
        };
        self.open.insert(place, call);
        Ok(())
    }

    /// Handles a complete item.
    fn item(&mut self, place: i64, item: Item, events: &mut Events) -> Result<(), ModelError> {
        if self.done.contains(&place) {
            return Ok(());
        }
        if self.done.len() >= MAX_ITEMS {
            return Err(classify::malformed(&self.service, "too many items in one answer"));
        }
        self.done.push(place);
        match item.kind.as_deref().unwrap_or_default() {
            "function_call" => {
                let begun = self.open.remove(&place).unwrap_or_default();
                self.call(
                    Call {
                        id: item.call_id.filter(|id| !id.is_empty()).unwrap_or(begun.id),
                        name: item.name.filter(|name| !name.is_empty()).unwrap_or(begun.name),
                        arguments: Some(piece(item.arguments))
                            .filter(|whole| !whole.is_empty())
                            .unwrap_or(begun.arguments),
                    },
                    events,
                );
            }
            "reasoning" => self.reasoning(item, events),
            "web_search_call" => self.search(item, events),
            // Its text was already emitted, unless no piece of it came.
            "message" if !self.has_text => {
                for part in parts(item.content) {
                    self.cited.extend(part.annotations.iter().filter_map(cited));
                    self.refused |= part.refusal.is_some();
                    self.say(part.text.or(part.refusal).unwrap_or_default(), events);
                }
            }
            "message" => self.has_text = false,
            "image_generation_call" => {
                if let Some(data) = item.result.and_then(loose::text_of).filter(|data| !data.is_empty()) {
                    self.end_thought(events);
                    self.told += 1;
                    let mime = format!("image/{}", item.output_format.as_deref().unwrap_or("png"));
                    events.push_back(ModelEvent::Image { mime, data, opaque: None });
                }
            }
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
        let (name, input) = (tool_name(&call.name), arguments(&call.arguments));
        events.push_back(ModelEvent::ToolCall(ToolCall { id, name, input, opaque: None }));
    }

    fn reasoning(&mut self, item: Item, events: &mut Events) {
        let texts = |parts: &[Part]| parts.iter().filter_map(|part| part.text.clone()).collect::<Vec<_>>();
        let summary = texts(&item.summary);
        if self.thought.is_empty() {
            let whole = if summary.is_empty() { texts(&parts(item.content)) } else { summary.clone() };
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
        let is_failure =
            |error: &Value| !error.is_null() && error.as_object().is_none_or(|fields| !fields.is_empty());
        if let Some(error) = response.error.filter(is_failure) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        let reason = response
            .incomplete_details
            .and_then(|details| details.reason)
            .filter(|reason| !reason.is_empty());
        self.end = Some(match (response.status.as_deref(), reason.as_deref()) {
            (Some("failed" | "cancelled"), _) => {
                return Err(classify::reported(&self.service, &Report::of_body(b"")));
            }
            (status, Some(reason)) => match Ending::of(reason) {
                Ending::GaveUp => return Err(classify::gave_up(&self.service, reason)),
                Ending::Window if self.told == 0 => return Err(classify::window_full(&self.service)),
                Ending::Complete if status == Some("incomplete") => Ending::Length,
                ending => ending,
            },
            (Some("incomplete"), None) => Ending::Length,
            _ => Ending::Complete,
        });
        // Only if no event was emitted before, so that nothing is emitted twice.
        if self.told == 0 && self.done.is_empty() && self.open.is_empty() {
            for (place, item) in (0..).zip(response.output) {
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
        let counted = self.usage.unwrap_or_default();
        let details = counted.input_tokens_details.unwrap_or_default();
        let input_tokens = estimate::unless_counted(counted.input_tokens, self.input_tokens);
        let output = beyond(counted.total_tokens, counted.input_tokens, counted.output_tokens);
        Usage {
            input_tokens,
            output_tokens: estimate::unless_counted(output, estimate::tokens(self.told)),
            cached_tokens: within(details.cached_tokens.or(counted.cached_tokens), input_tokens),
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
        let kind = Some(kind.to_owned());
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
            Some(Ending::Refused) => StopReason::Refusal,
            Some(Ending::Length) => StopReason::Length,
            Some(Ending::Window) => StopReason::Window,
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        };
        if !self.cited.is_empty() {
            events.push_back(ModelEvent::Sources(std::mem::take(&mut self.cited)));
        }
        events.push_back(ModelEvent::Finished { stop, usage: self.usage(), model: self.model.take() });
    }
}
