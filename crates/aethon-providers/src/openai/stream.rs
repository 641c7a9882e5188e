//! Reads a streamed chat completion.
//!
//! It handles what servers really send: chunks without content, calls that share an index, ids that are missing or
//! repeated with every piece, arguments as an object, thoughts under two names, no `[DONE]`, usage with or after the
//! last choice, and a whole completion where a stream was requested.

use std::sync::Arc;

use aethon_core::message::ToolCall;
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use aethon_core::web_search::{Source, WebSearch};
use serde::Deserialize;
use serde_json::Value;

use super::thoughts;
use crate::classify::{self, Report};
use crate::counted;
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Events, Progress, arguments};

/// More calls than any real response has.
const MAX_CALLS: usize = 256;
/// More pieces of thoughts than any real response has.
const MAX_DETAILS: usize = 4096;

/// Reads one response.
pub(super) struct ChatDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    calls: Vec<Call>,
    thought: String,
    /// Whether the thought came under the name under which some services require it back.
    is_wanted_back: bool,
    details: Vec<Value>,
    cited: Vec<Source>,
    told: usize,
    refused: bool,
    model: Option<String>,
    usage: Option<UsageWire>,
    finish: Option<String>,
    done: bool,
}

/// A call whose pieces are being collected.
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "counted::counts")]
    usage: Option<UsageWire>,
    model: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    delta: Option<Delta>,
    /// Part of a completion that is not streamed.
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<Content>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
    annotations: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    /// Mistral's thoughts: a list of text parts.
    thinking: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize, Default)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize, Clone, Copy)]
struct UsageWire {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize, Clone, Copy)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl ChatDecoder {
    pub(super) fn new(service: Arc<Service>, input_tokens: u64) -> Self {
        Self::with_ids(service, input_tokens, CallIds::random())
    }

    pub(super) fn with_ids(service: Arc<Service>, input_tokens: u64, ids: CallIds) -> Self {
        Self {
            service,
            input_tokens,
            ids,
            calls: Vec::new(),
            thought: String::new(),
            is_wanted_back: false,
            details: Vec::new(),
            cited: Vec::new(),
            told: 0,
            refused: false,
            model: None,
            usage: None,
            finish: None,
            done: false,
        }
    }

    fn delta(&mut self, delta: Delta, events: &mut Events) -> Result<(), ModelError> {
        self.is_wanted_back |= delta.reasoning_content.as_ref().is_some_and(|text| !text.is_empty());
        self.think(delta.reasoning_content.or(delta.reasoning), events);
        for annotation in delta.annotations.iter().flatten() {
            let page = annotation.get("url_citation").unwrap_or(annotation);
            let field = |name: &str| page.get(name).and_then(Value::as_str).unwrap_or_default();
            self.cited.extend(Source::new(field("url"), field("title")));
        }
        for piece in delta.reasoning_details.unwrap_or_default() {
            self.detail(piece)?;
        }
        match delta.content {
            Some(Content::Text(text)) => self.say(text, events),
            Some(Content::Parts(parts)) => {
                for part in parts {
                    for thought in part.thinking.unwrap_or_default() {
                        self.think(thought.text, events);
                    }
                    self.say(part.text.unwrap_or_default(), events);
                }
            }
            Some(Content::Other(_)) | None => {}
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal, events);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call)?;
        }
        Ok(())
    }

    fn say(&mut self, text: String, events: &mut Events) {
        if text.is_empty() {
            return;
        }
        self.end_thought(events);
        self.told += text.len();
        events.push_back(ModelEvent::Text(text));
    }

    fn think(&mut self, text: Option<String>, events: &mut Events) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        self.told += text.len();
        self.thought.push_str(&text);
        events.push_back(ModelEvent::Reasoning(text));
    }

    /// Details repeat the text of the thought, so they are stored but not emitted.
    fn detail(&mut self, piece: Value) -> Result<(), ModelError> {
        if self.details.len() == MAX_DETAILS {
            return Err(classify::malformed(&self.service, "too many details of thoughts in one answer"));
        }
        thoughts::add_detail(&mut self.details, piece);
        Ok(())
    }

    fn end_thought(&mut self, events: &mut Events) {
        if !self.thought.is_empty() {
            let text = std::mem::take(&mut self.thought);
            let opaque = self.is_wanted_back.then(|| thoughts::keep_content(&text));
            events.push_back(ModelEvent::ReasoningDone { text, opaque });
        }
    }

    /// Details may arrive as late as the calls.
    fn end_details(&mut self, events: &mut Events) {
        if !self.details.is_empty() {
            let opaque = Some(thoughts::keep_details(std::mem::take(&mut self.details)));
            events.push_back(ModelEvent::ReasoningDone { text: String::new(), opaque });
        }
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), ModelError> {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.filter(|id| !id.is_empty());
        let name = function.name.unwrap_or_default();
        let piece = match function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(piece)) => piece,
            Some(whole) => whole.to_string(),
        };
        let place = self.place(delta.index, id.as_deref(), &name, &piece);
        if place == self.calls.len() {
            if place == MAX_CALLS {
                return Err(classify::malformed(&self.service, "too many tool calls in one answer"));
            }
            self.calls.push(Call {
                index: delta.index,
                id: None,
                name: String::new(),
                arguments: String::new(),
            });
        }
        self.told += piece.len();
        if let Some(call) = self.calls.get_mut(place) {
            call.id = call.id.take().or(id);
            // Some services repeat the whole name with every piece.
            if call.name.is_empty() {
                call.name = name;
            }
            call.arguments.push_str(&piece);
        }
        Ok(())
    }

    /// Returns the index of the call that a piece belongs to: an open one, or a new one at the end.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: &str, piece: &str) -> usize {
        let new = self.calls.len();
        let open = match (index, id) {
            (Some(_), _) => self.calls.iter().rposition(|call| call.index == index),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id.as_deref() == Some(id)),
            (None, None) => new.checked_sub(1),
        };
        let Some(place) = open else { return new };
        let call = &self.calls[place];
        let other_id = matches!((id, call.id.as_deref()), (Some(new), Some(old)) if new != old);
        // Without ids, a name with arguments after complete arguments begins the next call.
        let restarts = id.is_none()
            && !name.is_empty()
            && !call.name.is_empty()
            && !piece.is_empty()
            && serde_json::from_str::<Value>(&call.arguments).is_ok();
        if other_id || restarts { new } else { place }
    }

    fn stop(&self, has_calls: bool) -> StopReason {
        match self.finish.as_deref() {
            _ if self.refused => StopReason::Refusal,
            Some("length" | "model_length" | "max_tokens") => StopReason::Length,
            Some("content_filter") => StopReason::Refusal,
            // Services disagree on the finish reason after calls, so the calls themselves decide.
            _ if has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        }
    }

    fn usage(&self) -> Usage {
        let counted = self.usage;
        let cached = counted.and_then(|usage| usage.prompt_tokens_details?.cached_tokens);
        Usage {
            input_tokens: estimate::unless_counted(
                counted.and_then(|usage| usage.prompt_tokens),
                self.input_tokens,
            ),
            output_tokens: estimate::unless_counted(
                counted.and_then(|usage| usage.completion_tokens),
                estimate::tokens(self.told),
            ),
            cached_tokens: cached.unwrap_or(0),
            ..Usage::default()
        }
    }
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|error| classify::malformed(&self.service, &format!("a chunk: {error}")))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        if name == Some("error") {
            return Err(classify::reported(&self.service, &Report::of_body(data.as_bytes())));
        }
        self.model = self.model.take().or(chunk.model.filter(|model| !model.is_empty()));
        self.usage = chunk.usage.or(self.usage);
        let first =
            chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index.unwrap_or(0) == 0);
        if let Some(choice) = first {
            self.delta(choice.delta.or(choice.message).unwrap_or_default(), events)?;
            self.finish = choice.finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        match (self.done, &self.finish) {
            (true, _) => Progress::Over,
            (false, Some(_)) => Progress::Complete,
            (false, None) => Progress::Running,
        }
    }

    fn end(&mut self, events: &mut Events) {
        self.end_thought(events);
        self.end_details(events);
        if !self.cited.is_empty() {
            // The service says what it cites, but not what it searched for.
            let sources = std::mem::take(&mut self.cited);
            events.push_back(ModelEvent::Search(WebSearch { query: String::new(), sources, opaque: None }));
        }
        let mut used: Vec<String> = Vec::new();
        // A call without a name is a fragment that cannot run.
        let calls: Vec<Call> =
            std::mem::take(&mut self.calls).into_iter().filter(|call| !call.name.is_empty()).collect();
        let has_calls = !calls.is_empty();
        for call in calls {
            let id = call.id.filter(|id| !used.contains(id)).unwrap_or_else(|| self.ids.make());
            used.push(id.clone());
            let input = arguments(&call.arguments);
            events.push_back(ModelEvent::ToolCall(ToolCall { id, name: call.name, input, opaque: None }));
        }
        events.push_back(ModelEvent::Finished {
            stop: self.stop(has_calls),
            usage: self.usage(),
            model: self.model.take(),
        });
    }
}
