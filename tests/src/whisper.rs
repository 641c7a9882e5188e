//! A transcription service with OpenAI's API, as strict as the real one: it requires the key and a form with exactly a model and
//! a file whose name has a supported extension. The transcript of a recording is its bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::Stub;
use crate::stub::{self, Seen};

/// The key.
pub const KEY: &str = "sk-canary-of-the-transcriber";

/// The service.
pub struct Whisper {
    stub: Stub,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The statuses with which the next requests are refused, last one first.
    refusals: Vec<u16>,
    /// The transcripts so far.
    heard: Vec<String>,
    /// The faults of requests.
    faults: Vec<String>,
}

impl Whisper {
    /// Starts the service.
    pub fn start() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        Self { stub: Stub::answering(move |seen| answer(seen, &mut lock(&shared))), state }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        vec![
            "transcription.provider=openai".into(),
            format!("transcription.host=http://{}/v1", self.stub.address),
            format!("transcription.api_key={KEY}"),
        ]
    }

    /// Refuses the next requests with these statuses.
    pub fn refuse(&self, statuses: &[u16]) {
        lock(&self.state).refusals = statuses.iter().rev().copied().collect();
    }

    /// The transcripts in order.
    pub fn transcribed(&self) -> Vec<String> {
        lock(&self.state).heard.clone()
    }

    /// The number of requests.
    pub fn asked(&self) -> usize {
        self.stub.requests().len()
    }

    /// The faults of requests.
    pub fn faults(&self) -> Vec<String> {
        lock(&self.state).faults.clone()
    }
}

fn answer(seen: &Seen, state: &mut State) -> Vec<u8> {
    let refuse = |status: &str, extra: &str, message: &str| {
        stub::failure(status, extra, &json!({"error": {"message": message, "type": "error"}}).to_string())
    };
    if seen.header("authorization") != Some(&format!("Bearer {KEY}")) {
        let sent = seen.header("authorization").unwrap_or_default();
        return refuse("401 Unauthorized", "", &format!("Incorrect API key provided: {sent}"));
    }
    match state.refusals.pop() {
        Some(429) => return refuse("429 Too Many Requests", "Retry-After: 1\r\n", "slow down"),
        Some(413) => return refuse("413 Payload Too Large", "", "Maximum content size limit exceeded"),
        Some(_) => return refuse("500 Internal Server Error", "", "the server had an error"),
        None => {}
    }
    match recording(seen) {
        Ok(words) => {
            state.heard.push(words.clone());
            let usage = json!({"type": "tokens", "input_tokens": 20, "output_tokens": 5, "total_tokens": 25});
            stub::ok("application/json", &json!({"text": words, "usage": usage}).to_string())
        }
        Err(fault) => {
            state.faults.push(fault.clone());
            refuse("400 Bad Request", "", &fault)
        }
    }
}

/// The transcript of the recording in a form.
fn recording(seen: &Seen) -> Result<String, String> {
    if seen.line != "POST /v1/audio/transcriptions" {
        return Err(format!("no such address: {}", seen.line));
    }
    let boundary =
        seen.header("content-type").and_then(|kind| kind.strip_prefix("multipart/form-data; boundary="));
    let boundary = boundary.ok_or("the body is no form")?;
    let body = String::from_utf8(seen.body.clone()).map_err(|_| "the tests speak UTF-8")?;
    let whole = body.strip_suffix(&format!("\r\n--{boundary}--\r\n")).ok_or("the form does not end")?;
    let line = format!("--{boundary}\r\n");
    let mut parts = whole.split(&line);
    if parts.next() != Some("") {
        return Err("something stands before the form".into());
    }
    let (mut model, mut words) = (None, None);
    for part in parts {
        let (head, content) = part.split_once("\r\n\r\n").ok_or("a part has no end of its head")?;
        let content = content.strip_suffix("\r\n").unwrap_or(content);
        let name = head.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
        let file = head.split("filename=\"").nth(1).and_then(|rest| rest.split('"').next());
        match (name, file) {
            (Some("model"), None) => model = Some(content.to_owned()),
            (Some("language"), None) if content.len() == 2 => {}
            (Some("file"), Some(file)) => {
                let formats = ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"];
                let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
                if !formats.contains(&ending) || !head.contains("Content-Type: audio/") {
                    return Err(format!("Invalid file format: {head}"));
                }
                words = Some(content.to_owned());
            }
            _ => return Err(format!("an unknown part: {head}")),
        }
    }
    match (model.as_deref(), words) {
        (Some("gpt-4o-mini-transcribe"), Some(words)) => Ok(words),
        (model, words) => Err(format!("the model {model:?}, the file {words:?}")),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
