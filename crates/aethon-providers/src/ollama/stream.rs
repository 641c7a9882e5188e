//! Reads a streamed chat: one JSON object per line, the last with the figures.

use std::sync::Arc;

use aethon_core::message::ToolCall;
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::classify::{self, Report};
use crate::counted;
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Ending, Events, Progress, arguments_of, loose, tool_name};

/// Reads one response.
pub(super) struct OllamaDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    thought: String,
    /// The text so far.
    said: String,
    told: usize,
    has_calls: bool,
    model: Option<String>,
    end: Option<Figures>,
}

struct Figures {
    reason: Option<Ending>,
    prompt: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    #[serde(deserialize_with = "loose::text")]
    model: Option<String>,
    #[serde(deserialize_with = "loose::maybe")]
    message: Option<MessageDelta>,
    /// From a server that only knows completions.
    #[serde(deserialize_with = "loose::text")]
    response: Option<String>,
    #[serde(deserialize_with = "loose::flag")]
    done: bool,
    #[serde(deserialize_with = "loose::text")]
    done_reason: Option<String>,
    #[serde(deserialize_with = "counted::counts")]
    prompt_eval_count: Option<u64>,
    #[serde(deserialize_with = "counted::counts")]
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessageDelta {
    #[serde(deserialize_with = "loose::text")]
    content: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    thinking: Option<String>,
    #[serde(deserialize_with = "loose::list")]
    tool_calls: Vec<Call>,
    /// Pictures that the model made, in base64.
    #[serde(deserialize_with = "loose::list")]
    images: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Call {
    #[serde(deserialize_with = "loose::text")]
    id: Option<String>,
    #[serde(deserialize_with = "loose::maybe")]
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Function {
    #[serde(deserialize_with = "loose::text")]
    name: Option<String>,
    arguments: Option<Value>,
}

impl OllamaDecoder {
    pub(super) fn new(service: Arc<Service>, input_tokens: u64) -> Self {
        Self::with_ids(service, input_tokens, CallIds::random())
    }

    pub(super) fn with_ids(service: Arc<Service>, input_tokens: u64, ids: CallIds) -> Self {
        Self {
            service,
            input_tokens,
            ids,
            thought: String::new(),
            said: String::new(),
            told: 0,
            has_calls: false,
            model: None,
            end: None,
        }
    }

    fn delta(&mut self, delta: MessageDelta, is_last: bool, events: &mut Events) {
        if let Some(text) = delta.thinking.filter(|text| !text.is_empty()) {
            self.told += text.len();
            self.thought.push_str(&text);
            events.push_back(ModelEvent::Reasoning(text));
        }
        // Some servers repeat the whole text in the last line.
        let is_repeated = |text: &String| is_last && *text == self.said;
        if let Some(text) = delta.content.filter(|text| !text.is_empty() && !is_repeated(text)) {
            self.end_thought(events);
            self.told += text.len();
            self.said.push_str(&text);
            events.push_back(ModelEvent::Text(text));
        }
        for data in delta.images {
            self.end_thought(events);
            self.told += 1;
            events.push_back(ModelEvent::Image { mime: "image/png".into(), data, opaque: None });
        }
        for call in delta.tool_calls {
            self.end_thought(events);
            let Function { name, arguments } = call.function.unwrap_or_default();
            // A call without a name is a fragment that cannot run.
            let Some(name) = name.filter(|name| !name.is_empty()) else { continue };
            self.has_calls = true;
            let id = call.id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.ids.make());
            let (name, input) = (tool_name(&name), arguments_of(arguments));
            self.told += 20;
            events.push_back(ModelEvent::ToolCall(ToolCall { id, name, input, opaque: None }));
        }
    }

    fn end_thought(&mut self, events: &mut Events) {
        if !self.thought.is_empty() {
            let text = std::mem::take(&mut self.thought);
            events.push_back(ModelEvent::ReasoningDone { text, opaque: None });
        }
    }
}

impl Decoder for OllamaDecoder {
    fn frame(&mut self, _name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        let line: Line = serde_json::from_str(data)
            .map_err(|error| classify::malformed(&self.service, &format!("a line: {error}")))?;
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        self.model = self.model.take().or(line.model.filter(|model| !model.is_empty()));
        let completion =
            line.response.map(|content| MessageDelta { content: Some(content), ..MessageDelta::default() });
        if let Some(delta) = line.message.or(completion) {
            self.delta(delta, line.done, events);
        }
        if line.done {
            let reason = line.done_reason.as_deref().map(Ending::of);
            match (reason, line.done_reason) {
                (Some(Ending::GaveUp), Some(word)) => return Err(classify::gave_up(&self.service, &word)),
                (Some(Ending::Window), _) if self.told == 0 => {
                    return Err(classify::window_full(&self.service));
                }
                _ => {}
            }
            self.end = Some(Figures { reason, prompt: line.prompt_eval_count, output: line.eval_count });
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.end.is_some() { Progress::Over } else { Progress::Running }
    }

    fn end(&mut self, events: &mut Events) {
        self.end_thought(events);
        let figures = self.end.take().unwrap_or(Figures { reason: None, prompt: None, output: None });
        let stop = match figures.reason {
            Some(Ending::Length) => StopReason::Length,
            Some(Ending::Window) => StopReason::Window,
            Some(Ending::Refused) => StopReason::Refusal,
            // The reason is `stop` even after calls.
            _ if self.has_calls => StopReason::ToolUse,
            _ => StopReason::End,
        };
        let usage = Usage {
            input_tokens: estimate::unless_counted(figures.prompt, self.input_tokens),
            output_tokens: estimate::unless_counted(figures.output, estimate::tokens(self.told)),
            ..Usage::default()
        };
        events.push_back(ModelEvent::Finished { stop, usage, model: self.model.take() });
    }
}
