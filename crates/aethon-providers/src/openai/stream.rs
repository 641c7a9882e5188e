//! Reads a streamed chat completion.
//!
//! It handles what servers really send: chunks without content, calls that share an index, ids that are missing or
//! repeated with every piece, arguments as an object, thoughts under two names, no `[DONE]`, usage with or after the
//! last choice, and a whole completion where a stream was requested.

use std::sync::Arc;

use aethon_core::model::{ModelError, ModelEvent, StopReason};
use aethon_core::web_search::{Source, WebSearch};
use serde_json::Value;

use super::call_pieces::CallPieces;
use super::chunk::{CallDelta, Choice, Chunk, Delta, FunctionDelta, Part, Picture, parts, picture};
use super::thoughts;
use super::usage::UsageWire;
use crate::classify::{self, Report};
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Ending, Events, Progress};

/// More pieces of thoughts than any real response has.
const MAX_DETAILS: usize = 4096;

/// Reads one response.
pub(super) struct ChatDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    calls: CallPieces,
    thought: Thought,
    cited: Vec<Source>,
    told: usize,
    /// What came in deltas. A whole message after them only repeats it.
    seen: Seen,
    /// The text that came in messages, each of which may repeat the ones before.
    message: String,
    refused: bool,
    model: Option<String>,
    usage: UsageWire,
    finish: Option<Ending>,
    done: bool,
}

/// The thought that is being received.
#[derive(Default)]
struct Thought {
    text: String,
    /// Whether it came under the name under which some services require it back.
    is_wanted_back: bool,
    details: Vec<Value>,
}

/// The kinds of content that came.
#[derive(Default, Clone, Copy)]
struct Seen {
    text: bool,
    thought: bool,
    calls: bool,
    images: bool,
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
            calls: CallPieces::default(),
            thought: Thought::default(),
            cited: Vec::new(),
            told: 0,
            seen: Seen::default(),
            message: String::new(),
            refused: false,
            model: None,
            usage: UsageWire::default(),
            finish: None,
            done: false,
        }
    }

    /// Reads a choice. Its pieces come before the whole.
    fn choice(&mut self, choice: Choice, events: &mut Events) -> Result<(), ModelError> {
        if let Some(error) = choice.error.filter(|error| !error.is_null()) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        self.usage.update(choice.usage);
        if let Some(delta) = choice.delta {
            self.delta(delta, events)?;
        }
        if let Some(message) = choice.message {
            self.message(message, events)?;
        }
        if let Some(text) = choice.text.filter(|_| !self.seen.text) {
            self.say(text, events);
        }
        match choice.finish_reason.filter(|reason| !reason.is_empty()) {
            Some(reason) => self.finished(&reason),
            None => Ok(()),
        }
    }

    fn finished(&mut self, reason: &str) -> Result<(), ModelError> {
        let ending = Ending::of(reason);
        let has_nothing = self.told == 0 && self.calls.is_empty();
        match ending {
            Ending::GaveUp => Err(classify::gave_up(&self.service, reason)),
            Ending::Window if has_nothing => Err(classify::window_full(&self.service)),
            _ => {
                self.finish = Some(ending);
                Ok(())
            }
        }
    }

    /// Reads a message: pieces under another name, or the whole, of which only what is missing counts.
    fn message(&mut self, mut message: Delta, events: &mut Events) -> Result<(), ModelError> {
        let Seen { text, thought, calls, images } = self.seen;
        if text {
            message.content = None;
            message.refusal = None;
        } else if let Some(Value::String(content)) = &mut message.content {
            if let Some(rest) =
                content.strip_prefix(self.message.as_str()).filter(|_| !self.message.is_empty())
            {
                *content = rest.to_owned();
            }
            self.message.push_str(content);
        }
        if thought {
            (message.reasoning_content, message.reasoning) = (None, None);
            message.reasoning_details.clear();
        }
        if calls {
            message.tool_calls.clear();
            message.function_call = None;
        }
        if images {
            message.images.clear();
        }
        let before = self.seen;
        self.delta(message, events)?;
        // It may be followed by more messages.
        self.seen = before;
        Ok(())
    }

    fn delta(&mut self, delta: Delta, events: &mut Events) -> Result<(), ModelError> {
        self.usage.update(delta.usage);
        self.thought.is_wanted_back |= delta.reasoning_content.as_ref().is_some_and(|text| !text.is_empty());
        self.think(delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning), events);
        for annotation in &delta.annotations {
            let page = annotation.get("url_citation").unwrap_or(annotation);
            let field = |name: &str| page.get(name).and_then(Value::as_str).unwrap_or_default();
            self.cited.extend(Source::new(field("url"), field("title")));
        }
        for piece in delta.reasoning_details {
            self.detail(piece)?;
        }
        for part in delta.content.map(parts).unwrap_or_default() {
            match part {
                Part::Text(text) => self.say(text, events),
                Part::Thought(text) => self.think(Some(text), events),
                Part::Image(picture) => self.image(picture, events),
            }
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal, events);
        }
        for image in delta.images.iter().filter_map(picture) {
            self.image(image, events);
        }
        let legacy = delta
            .function_call
            .map(|function| CallDelta { function: Some(function), ..CallDelta::default() });
        for call in delta.tool_calls.into_iter().chain(legacy) {
            self.call(call)?;
        }
        Ok(())
    }

    fn image(&mut self, picture: Picture, events: &mut Events) {
        self.end_thought(events);
        self.seen.images = true;
        match picture {
            Picture::Data { mime, data } => {
                self.told += 1;
                events.push_back(ModelEvent::Image { mime, data, opaque: None });
            }
            Picture::Link(url) => self.say(format!("[A picture]({url})"), events),
        }
    }

    fn say(&mut self, text: String, events: &mut Events) {
        if text.is_empty() {
            return;
        }
        self.end_thought(events);
        self.seen.text = true;
        self.told += text.len();
        events.push_back(ModelEvent::Text(text));
    }

    fn think(&mut self, text: Option<String>, events: &mut Events) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        self.seen.thought = true;
        self.told += text.len();
        self.thought.text.push_str(&text);
        events.push_back(ModelEvent::Reasoning(text));
    }

    /// Details repeat the text of the thought, so they are stored but not emitted.
    fn detail(&mut self, piece: Value) -> Result<(), ModelError> {
        if self.thought.details.len() == MAX_DETAILS {
            return Err(classify::malformed(&self.service, "too many details of thoughts in one answer"));
        }
        thoughts::add_detail(&mut self.thought.details, piece);
        Ok(())
    }

    fn end_thought(&mut self, events: &mut Events) {
        if !self.thought.text.is_empty() {
            let text = std::mem::take(&mut self.thought.text);
            let opaque = self.thought.is_wanted_back.then(|| thoughts::keep_content(&text));
            events.push_back(ModelEvent::ReasoningDone { text, opaque });
        }
    }

    /// Details may arrive as late as the calls.
    fn end_details(&mut self, events: &mut Events) {
        if !self.thought.details.is_empty() {
            let opaque = Some(thoughts::keep_details(std::mem::take(&mut self.thought.details)));
            events.push_back(ModelEvent::ReasoningDone { text: String::new(), opaque });
        }
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), ModelError> {
        let CallDelta { index, id, function, name, arguments } = delta;
        let FunctionDelta { name: inner, arguments: given } = function.unwrap_or_default();
        self.seen.calls = true;
        let piece = match given.or(arguments) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(piece)) => piece,
            Some(whole) => whole.to_string(),
        };
        self.told += piece.len();
        let id = id.filter(|id| !id.is_empty());
        match self.calls.add(index, id, inner.or(name).unwrap_or_default(), &piece) {
            true => Ok(()),
            false => Err(classify::malformed(&self.service, "too many tool calls in one answer")),
        }
    }

    fn stop(&self, has_calls: bool) -> StopReason {
        match self.finish {
            _ if self.refused => StopReason::Refusal,
            Some(Ending::Length) => StopReason::Length,
            Some(Ending::Window) => StopReason::Window,
            Some(Ending::Refused) => StopReason::Refusal,
            // Services disagree on the finish reason after calls, so the calls themselves decide.
            _ if has_calls => StopReason::ToolUse,
            Some(Ending::Pause) => StopReason::Pause,
            _ => StopReason::End,
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
        let extension = chunk.x_groq.unwrap_or_default();
        if let Some(error) = chunk.error.or(extension.error).filter(is_failure) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        if name == Some("error") {
            return Err(classify::reported(&self.service, &Report::of_body(data.as_bytes())));
        }
        self.model = self.model.take().or(chunk.model.filter(|model| !model.is_empty()));
        self.usage.update(extension.usage);
        self.usage.update(chunk.usage);
        let own = |choice: &Choice| choice.index.unwrap_or(0) <= 0;
        if let Some(choice) = chunk.choices.into_iter().find(own) {
            self.choice(choice, events)?;
        } else if let Some(message) = chunk.message {
            self.message(message, events)?;
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
        let calls = std::mem::take(&mut self.calls).finish(&mut self.ids);
        let has_calls = !calls.is_empty();
        events.extend(calls.into_iter().map(ModelEvent::ToolCall));
        events.push_back(ModelEvent::Finished {
            stop: self.stop(has_calls),
            usage: self.usage.usage(self.input_tokens, estimate::tokens(self.told)),
            model: self.model.take(),
        });
    }
}

/// Some services send an empty error with every chunk.
fn is_failure(error: &Value) -> bool {
    !error.is_null() && error.as_object().is_none_or(|fields| !fields.is_empty()) && error != ""
}
