//! Reads a streamed chat: one JSON object per line, the last with the figures.

use std::sync::Arc;

use aethon_core::message::ToolCall;
use aethon_core::model::{ModelError, ModelEvent, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::classify::{self, Report};
use crate::counted;
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Events, Progress, arguments};

/// Reads one response.
pub(super) struct OllamaDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    thought: String,
    told: usize,
    has_calls: bool,
    model: Option<String>,
    end: Option<Figures>,
}

struct Figures {
    reason: Option<String>,
    prompt: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct Line {
    model: Option<String>,
    message: Option<MessageDelta>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    #[serde(default, deserialize_with = "counted::counts")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "counted::counts")]
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct MessageDelta {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
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
            told: 0,
            has_calls: false,
            model: None,
            end: None,
        }
    }

    fn delta(&mut self, delta: MessageDelta, events: &mut Events) {
        if let Some(text) = delta.thinking.filter(|text| !text.is_empty()) {
            self.told += text.len();
            self.thought.push_str(&text);
            events.push_back(ModelEvent::Reasoning(text));
        }
        if let Some(text) = delta.content.filter(|text| !text.is_empty()) {
            self.end_thought(events);
            self.told += text.len();
            events.push_back(ModelEvent::Text(text));
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.end_thought(events);
            self.has_calls = true;
            let id = call.id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.ids.make());
            let input = match call.function.arguments {
                None | Some(Value::Null) => Value::Object(Map::new()),
                Some(object @ Value::Object(_)) => object,
                // A string, as OpenAI writes arguments.
                Some(Value::String(text)) => arguments(&text),
                Some(other) => Value::String(other.to_string()),
            };
            self.told += 20;
            events.push_back(ModelEvent::ToolCall(ToolCall {
                id,
                name: call.function.name,
                input,
                opaque: None,
            }));
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
        if let Some(delta) = line.message {
            self.delta(delta, events);
        }
        if line.done {
            self.end = Some(Figures {
                reason: line.done_reason,
                prompt: line.prompt_eval_count,
                output: line.eval_count,
            });
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.end.is_some() { Progress::Over } else { Progress::Running }
    }

    fn end(&mut self, events: &mut Events) {
        self.end_thought(events);
        let figures = self.end.take().unwrap_or(Figures { reason: None, prompt: None, output: None });
        let stop = match figures.reason.as_deref() {
            Some("length") => StopReason::Length,
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
