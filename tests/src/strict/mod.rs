//! Model services as strict as the real ones of late 2026.
//!
//! Each file imitates one provider: it parses a request, makes the provider's refusals with the provider's messages, and
//! streams an answer in the provider's format. The model behaves the same everywhere, depending only on the conversation:
//! asked to look at the clock `once` or `twice`, it calls `current_time` that often, with a thought before each call that must
//! be sent back unchanged; shown a picture, it says so; otherwise it chats.

pub mod anthropic;
pub mod authorization;
pub mod bedrock;
pub mod chat;
pub mod gateway;
pub mod gemini;
pub mod ollama;
pub mod responses;

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::stub::{Seen, Stub, failure};

/// One provider.
pub trait Provider: Send {
    /// Parses the request, or refuses it.
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal>;

    /// Streams the answer.
    fn write(&mut self, said: &ModelResponse) -> Vec<u8>;
}

/// The parsed conversation.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The user's last message.
    pub words: String,
    /// The number of tool steps in the turn so far.
    pub steps: usize,
    /// Whether the last message has a picture.
    pub sees: bool,
    /// Whether tools are offered, `current_time` among them.
    pub has_tools: bool,
}

/// A response of the model.
#[derive(Debug)]
pub struct ModelResponse {
    /// Its index in the turn, from 0.
    pub step: usize,
    /// Its thought.
    pub thought: &'static str,
    /// Its text, or nothing if it makes a call.
    pub text: String,
    /// Whether it calls `current_time`.
    pub calls: bool,
}

/// The thought of every provider's model before each step.
pub const THOUGHT: &str = "I look at the clock.";

impl ModelResponse {
    fn to(asked: &Conversation) -> Self {
        let wanted = match () {
            () if asked.words.contains("twice") => 2,
            () if asked.words.contains("once") => 1,
            () => 0,
        };
        let calls = asked.has_tools && asked.steps < wanted;
        let text = match (calls, asked.sees) {
            (true, _) => String::new(),
            (false, true) => "I see a picture.".to_owned(),
            (false, false) => format!("Done after {} steps.", asked.steps),
        };
        Self { step: asked.steps, thought: THOUGHT, text, calls }
    }

    /// The id of its call, in the letters and digits that the strictest provider accepts.
    pub fn call_id(&self) -> String {
        format!("call{:05}", self.step)
    }

    /// The opaque form of its thought, which must be sent back unchanged.
    pub fn seal(&self) -> String {
        seal(self.step)
    }
}

/// The opaque form of a step's thought.
pub fn seal(step: usize) -> String {
    STANDARD.encode(format!("sealed thought {step}"))
}

/// A refusal in the provider's format.
#[derive(Debug)]
pub struct Refusal {
    /// The status, such as `400 Bad Request`.
    pub status: &'static str,
    /// The body.
    pub body: Value,
}

/// A running provider.
pub struct Strict {
    stub: Stub,
    refusals: Arc<Mutex<Vec<String>>>,
}

impl Strict {
    /// Starts the provider on a free port.
    pub fn start(mut provider: impl Provider + 'static) -> Self {
        let refusals: Arc<Mutex<Vec<String>>> = Arc::default();
        let record = refusals.clone();
        let stub = Stub::answering(move |seen| match provider.read(seen) {
            Ok(asked) => provider.write(&ModelResponse::to(&asked)),
            Err(Refusal { status, body }) => {
                record.lock().unwrap_or_else(PoisonError::into_inner).push(body.to_string());
                failure(status, "x-request-id: req_strict_1\r\n", &body.to_string())
            }
        });
        Self { stub, refusals }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("http://{}", self.stub.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.stub.requests()
    }

    /// The refusals so far.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The result of a check; the error is plain text that each provider puts into its own format.
pub type Checked<T = ()> = Result<T, String>;

/// Refuses unknown keys.
pub fn only(object: &Value, known: &[&str]) -> Checked {
    let keys = object.as_object().ok_or_else(|| format!("{object} is no object"))?.keys();
    match keys.into_iter().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("Unknown parameter: '{key}'.")),
        None => Ok(()),
    }
}

/// Refuses unless this holds.
pub fn insist(holds: bool, what: &str) -> Checked {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// The list at a key; a missing list is empty.
pub fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text at a key.
pub fn text<'a>(object: &'a Value, key: &str) -> Checked<&'a str> {
    object[key].as_str().ok_or_else(|| format!("'{key}' must be a string in {object}"))
}

/// Refuses data that is not a PNG in base64.
pub fn png(data: &str) -> Checked {
    let bytes = STANDARD.decode(data).map_err(|_| "the image is not base64".to_owned())?;
    insist(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "the image is not a PNG")
}

/// Refuses a tool without a proper name, description or schema; returns whether it is `current_time`.
pub fn tool(name: &Value, description: &Value, schema: &Value) -> Checked<bool> {
    let name = name.as_str().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    insist(!name.is_empty() && name.len() <= 64 && name.chars().all(is_plain), "a tool's name is wrong")?;
    insist(description.is_string(), "a tool needs a description")?;
    insist(schema["type"] == "object", "a tool's schema must be of type object")?;
    Ok(name == "current_time")
}

/// Extracts a model's version from names such as `gpt-5.4-mini` or `claude-sonnet-4-6`: 5.4, 4.6.
pub fn generation(model: &str) -> f64 {
    let mut parts = model
        .split(['-', '.', ':'])
        .filter(|part| part.len() <= 2)
        .filter_map(|part| part.parse::<f64>().ok());
    let major = parts.next().unwrap_or(0.0);
    major + parts.next().unwrap_or(0.0) / 10.0
}

/// Formats server-sent events, with names where given.
pub fn sse(events: &[(Option<&str>, Value)]) -> String {
    let event = |(name, data): &(Option<&str>, Value)| match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    events.iter().map(event).collect()
}

/// Splits a text in two, for streaming.
pub fn halves(text: &str) -> [&str; 2] {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    [&text[..middle], &text[middle..]]
}

/// Formats an error like OpenAI, which most others copied.
pub fn openai_error(message: &str, code: Option<&str>, param: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}})
}
