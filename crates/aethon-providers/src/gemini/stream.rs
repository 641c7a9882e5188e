//! Reads a streamed `generateContent`: every event is a complete response with more of the answer.
//!
//! The stream has no end marker: a `finishReason` says that the model is done, and the body ends. Calls arrive whole.
//! A part with a thought signature is kept, so that it can be sent back unchanged.

use std::sync::Arc;

use aethon_core::message::{Opaque, ToolCall};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use aethon_core::web_search::{Source, WebSearch};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::classify::{self, Report};
use crate::counted::{self, beyond, or_newer, within};
use crate::estimate;
use crate::service::Service;
use crate::stream::{CallIds, Decoder, Ending, Events, Progress, arguments_of, loose, tool_name};

/// More calls than any real response has.
const MAX_CALLS: usize = 256;

/// Reads one response.
pub(super) struct GenerateContentDecoder {
    service: Arc<Service>,
    input_tokens: u64,
    ids: CallIds,
    thought: String,
    /// Signatures of text, emitted after the text: in between, they would split it.
    signatures: Vec<String>,
    calls: usize,
    told: usize,
    model: Option<String>,
    usage: UsageWire,
    finish: Option<String>,
    grounding: Option<Grounding>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    #[serde(deserialize_with = "loose::list")]
    candidates: Vec<Candidate>,
    #[serde(alias = "prompt_feedback", deserialize_with = "loose::maybe")]
    prompt_feedback: Option<Feedback>,
    #[serde(alias = "usage_metadata", deserialize_with = "counted::counts")]
    usage_metadata: Option<UsageWire>,
    #[serde(alias = "model_version", deserialize_with = "loose::text")]
    model_version: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Candidate {
    #[serde(deserialize_with = "loose::index")]
    index: Option<i64>,
    #[serde(deserialize_with = "loose::maybe")]
    content: Option<Content>,
    #[serde(alias = "finish_reason", deserialize_with = "loose::text")]
    finish_reason: Option<String>,
    #[serde(alias = "finish_message", deserialize_with = "loose::text")]
    finish_message: Option<String>,
    #[serde(alias = "grounding_metadata", deserialize_with = "loose::maybe")]
    grounding_metadata: Option<Grounding>,
}

/// What a search found; every response repeats it so far.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Grounding {
    #[serde(alias = "web_search_queries", deserialize_with = "loose::list")]
    web_search_queries: Vec<String>,
    #[serde(alias = "grounding_chunks", deserialize_with = "loose::list")]
    grounding_chunks: Vec<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Content {
    #[serde(deserialize_with = "loose::list")]
    parts: Vec<Part>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Part {
    #[serde(deserialize_with = "loose::text")]
    text: Option<String>,
    #[serde(deserialize_with = "loose::flag")]
    thought: bool,
    #[serde(alias = "thought_signature", deserialize_with = "loose::text")]
    thought_signature: Option<String>,
    #[serde(alias = "function_call", deserialize_with = "loose::maybe")]
    function_call: Option<FunctionCall>,
    /// A call of a tool that the service ran itself, and its result: both go back unchanged.
    #[serde(alias = "tool_call")]
    tool_call: Option<Value>,
    #[serde(alias = "tool_response")]
    tool_response: Option<Value>,
    #[serde(alias = "inline_data", deserialize_with = "loose::maybe")]
    inline_data: Option<InlineData>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FunctionCall {
    #[serde(deserialize_with = "loose::text")]
    id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    name: Option<String>,
    args: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InlineData {
    #[serde(alias = "mime_type", deserialize_with = "loose::text")]
    mime_type: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    data: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Feedback {
    #[serde(alias = "block_reason", deserialize_with = "loose::text")]
    block_reason: Option<String>,
}

/// Every response repeats the figures so far; the last figures count.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase", default)]
struct UsageWire {
    #[serde(alias = "prompt_token_count")]
    prompt_token_count: Option<u64>,
    #[serde(alias = "tool_use_prompt_token_count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(alias = "cached_content_token_count")]
    cached_content_token_count: Option<u64>,
    #[serde(alias = "candidates_token_count")]
    candidates_token_count: Option<u64>,
    #[serde(alias = "thoughts_token_count")]
    thoughts_token_count: Option<u64>,
    #[serde(alias = "total_token_count")]
    total_token_count: Option<u64>,
}

impl UsageWire {
    fn update(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else { return };
        or_newer(&mut self.prompt_token_count, newer.prompt_token_count);
        or_newer(&mut self.tool_use_prompt_token_count, newer.tool_use_prompt_token_count);
        or_newer(&mut self.cached_content_token_count, newer.cached_content_token_count);
        or_newer(&mut self.candidates_token_count, newer.candidates_token_count);
        or_newer(&mut self.thoughts_token_count, newer.thoughts_token_count);
        or_newer(&mut self.total_token_count, newer.total_token_count);
    }
}

impl GenerateContentDecoder {
    pub(super) fn new(service: Arc<Service>, input_tokens: u64) -> Self {
        Self::with_ids(service, input_tokens, CallIds::random())
    }

    pub(super) fn with_ids(service: Arc<Service>, input_tokens: u64, ids: CallIds) -> Self {
        Self {
            service,
            input_tokens,
            ids,
            thought: String::new(),
            signatures: Vec::new(),
            calls: 0,
            told: 0,
            model: None,
            usage: UsageWire::default(),
            finish: None,
            grounding: None,
        }
    }

    fn part(&mut self, part: Part, events: &mut Events) -> Result<(), ModelError> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            return self.call(call, signature, events);
        }
        for (name, value) in [("toolCall", part.tool_call), ("toolResponse", part.tool_response)] {
            if let Some(value) = value {
                self.end_text(events);
                let mut data = json!({ name: value });
                if let Some(signature) = signature {
                    data["thoughtSignature"] = signature.into();
                }
                events.push_back(kept(data, String::new()));
                return Ok(());
            }
        }
        if let Some(picture) = part.inline_data {
            // A thought may hold sketches, of which the last one comes again as the answer.
            if !part.thought {
                self.image(picture, signature, events);
            }
            return Ok(());
        }
        let text = part.text.unwrap_or_default();
        if part.thought {
            self.think(text, events);
            if signature.is_some() {
                self.end_thought(signature, events);
            }
            return Ok(());
        }
        if !text.is_empty() {
            self.end_thought(None, events);
            self.say(text, events);
        }
        self.signatures.extend(signature);
        Ok(())
    }

    fn image(&mut self, picture: InlineData, signature: Option<String>, events: &mut Events) {
        self.end_thought(None, events);
        self.told += 1;
        let mime = picture.mime_type.unwrap_or_else(|| "unknown type".into());
        let opaque = signature.map(|signature| Opaque {
            dialect: DIALECT.into(),
            data: json!({ "thoughtSignature": signature }),
        });
        events.push_back(ModelEvent::Image { mime, data: picture.data.unwrap_or_default(), opaque });
    }

    fn call(
        &mut self,
        call: FunctionCall,
        signature: Option<String>,
        events: &mut Events,
    ) -> Result<(), ModelError> {
        self.end_text(events);
        // A call without a name is a fragment that cannot run.
        let Some(name) = call.name.filter(|name| !name.is_empty()) else { return Ok(()) };
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return Err(classify::malformed(&self.service, "too many tool calls in one answer"));
        }
        let given = call.id.filter(|id| !id.is_empty());
        let mut data = Map::new();
        if let Some(signature) = signature {
            data.insert("thoughtSignature".into(), signature.into());
        }
        if let Some(id) = &given {
            data.insert("id".into(), id.as_str().into());
        }
        let opaque = (!data.is_empty()).then(|| Opaque { dialect: DIALECT.into(), data: data.into() });
        self.told += name.len() + 40;
        let id = given.unwrap_or_else(|| self.ids.make());
        let (name, input) = (tool_name(&name), arguments_of(call.args));
        events.push_back(ModelEvent::ToolCall(ToolCall { id, name, input, opaque }));
        Ok(())
    }

    fn say(&mut self, text: String, events: &mut Events) {
        self.told += text.len();
        events.push_back(ModelEvent::Text(text));
    }

    fn think(&mut self, text: String, events: &mut Events) {
        if !text.is_empty() {
            self.told += text.len();
            self.thought.push_str(&text);
            events.push_back(ModelEvent::Reasoning(text));
        }
    }

    /// The signed text was already emitted; its signature goes back on an empty part after it.
    fn end_text(&mut self, events: &mut Events) {
        self.end_thought(None, events);
        for signature in self.signatures.drain(..) {
            events.push_back(kept(json!({ "text": "", "thoughtSignature": signature }), String::new()));
        }
    }

    fn end_thought(&mut self, signature: Option<String>, events: &mut Events) {
        let text = std::mem::take(&mut self.thought);
        match signature {
            Some(signature) => {
                let data = json!({ "text": text, "thought": true, "thoughtSignature": signature });
                events.push_back(kept(data, text));
            }
            None if text.is_empty() => {}
            None => events.push_back(ModelEvent::ReasoningDone { text, opaque: None }),
        }
    }

    /// Emits what was searched for, which the service tells apart from the parts of the answer.
    fn end_search(&mut self, events: &mut Events) -> u64 {
        let Some(grounding) = self.grounding.take() else { return 0 };
        let queries = grounding.web_search_queries;
        let field = |chunk: &Value, name: &str| {
            chunk.pointer(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let chunks = grounding.grounding_chunks;
        let pages = chunks
            .iter()
            .filter_map(|chunk| Source::new(&field(chunk, "/web/uri"), &field(chunk, "/web/title")));
        let sources: Vec<Source> = pages.collect();
        if queries.is_empty() && sources.is_empty() {
            return 0;
        }
        let search = WebSearch { query: queries.join("; "), sources, opaque: None };
        events.push_back(ModelEvent::Search(search));
        queries.len().max(1) as u64
    }

    /// Checks for a finish reason that is a failure.
    fn check_finish(&self, why: Option<&str>) -> Result<(), ModelError> {
        let Some(reason) = self.finish.as_deref() else { return Ok(()) };
        match Ending::of(reason) {
            Ending::GaveUp if reason.contains("CALL") || reason.contains("MALFORMED") => {
                let detail = format!("finishReason {reason} {}", why.unwrap_or_default());
                let sentence = "Gemini made a tool call that cannot be understood; try again.";
                Err(ModelError::new(ModelErrorKind::Overloaded, sentence)
                    .with_detail(self.service.redact(&detail)))
            }
            Ending::GaveUp => Err(classify::gave_up(&self.service, reason)),
            Ending::Window if self.told == 0 => Err(classify::window_full(&self.service)),
            _ => Ok(()),
        }
    }

    fn blocked(&self, reason: &str) -> ModelError {
        let sentence = "Gemini refuses this content; put it in other words.";
        ModelError::new(ModelErrorKind::Refused, sentence)
            .with_detail(self.service.redact(&format!("blockReason {reason}")))
    }

    fn stop(&self) -> StopReason {
        match self.finish.as_deref().map(Ending::of) {
            Some(Ending::Length) => StopReason::Length,
            Some(Ending::Window) => StopReason::Window,
            Some(Ending::Refused) => StopReason::Refusal,
            _ if self.calls > 0 => StopReason::ToolUse,
            _ => StopReason::End,
        }
    }

    fn usage(&self) -> Usage {
        let usage = self.usage;
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        let input = sum(usage.prompt_token_count, usage.tool_use_prompt_token_count);
        let output = sum(usage.candidates_token_count, usage.thoughts_token_count);
        let output = beyond(usage.total_token_count, input, output);
        let input_tokens = estimate::unless_counted(input, self.input_tokens);
        Usage {
            input_tokens,
            output_tokens: estimate::unless_counted(output, estimate::tokens(self.told)),
            // Included in the prompt's count.
            cached_tokens: within(usage.cached_content_token_count, input_tokens),
            ..Usage::default()
        }
    }
}

fn kept(data: Value, text: String) -> ModelEvent {
    ModelEvent::ReasoningDone { text, opaque: Some(Opaque { dialect: DIALECT.into(), data }) }
}

impl Decoder for GenerateContentDecoder {
    fn frame(&mut self, _name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let response: Response = serde_json::from_str(data)
            .map_err(|error| classify::malformed(&self.service, &format!("a response: {error}")))?;
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(classify::reported(&self.service, &Report::of_value(&error)));
        }
        self.model = self.model.take().or(response.model_version.filter(|model| !model.is_empty()));
        self.usage.update(response.usage_metadata);
        let blocked = response.prompt_feedback.and_then(|feedback| feedback.block_reason);
        if let Some(reason) =
            blocked.filter(|reason| !reason.is_empty() && reason != "BLOCK_REASON_UNSPECIFIED")
        {
            return Err(self.blocked(&reason));
        }
        let own = |candidate: &Candidate| candidate.index.unwrap_or(0) <= 0;
        let Some(first) = response.candidates.into_iter().find(own) else {
            return Ok(());
        };
        for part in first.content.unwrap_or_default().parts {
            self.part(part, events)?;
        }
        self.grounding = first.grounding_metadata.or(self.grounding.take());
        let reason =
            first.finish_reason.filter(|reason| !reason.is_empty() && reason != "FINISH_REASON_UNSPECIFIED");
        self.finish = reason.or(self.finish.take());
        self.check_finish(first.finish_message.as_deref())
    }

    fn progress(&self) -> Progress {
        if self.finish.is_some() { Progress::Complete } else { Progress::Running }
    }

    fn end(&mut self, events: &mut Events) {
        self.end_text(events);
        let web_searches = self.end_search(events);
        events.push_back(ModelEvent::Finished {
            stop: self.stop(),
            usage: Usage { web_searches, ..self.usage() },
            model: self.model.take(),
        });
    }
}
