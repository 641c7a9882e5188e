//! Recognises a failure that a service reports where an answer was due, in whatever form, before the dialect reads it.
//!
//! Servers behind one dialect report failures in many forms: vLLM sends `{"object": "error", "message": …}` in the
//! middle of a stream, FastAPI `{"detail": …}` with status 200, gateways a bare `{"message": …}`. A dialect would take
//! these for an answer without content and blame the connection.

use std::sync::Arc;

use aethon_core::model::ModelError;
use serde_json::Value;

use crate::classify::{self, Report};
use crate::service::Service;
use crate::stream::{Decoder, Events, FAILURE, Progress};

/// Parts of an answer in some dialect: a frame with one of them is the dialect's to read.
const ANSWERS: [&str; 14] = [
    "choices",
    "candidates",
    "delta",
    "response",
    "done",
    "content",
    "output",
    "usage",
    "usageMetadata",
    "promptFeedback",
    "item",
    "content_block",
    "contentBlockIndex",
    "role",
];

/// What may stand beside the message of a failure that says nothing else.
const BESIDE: [&str; 6] = ["message", "msg", "request_id", "requestId", "timestamp", "path"];

/// A decoder that reads only what is no failure.
pub(crate) struct FailureWatch {
    service: Arc<Service>,
    inner: Box<dyn Decoder>,
}

impl FailureWatch {
    pub(crate) fn new(service: Arc<Service>, inner: Box<dyn Decoder>) -> Self {
        Self { service, inner }
    }
}

impl Decoder for FailureWatch {
    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        match reported(name, data) {
            Some(report) => Err(classify::reported(&self.service, &report)),
            None => self.inner.frame(name, data, events),
        }
    }

    fn progress(&self) -> Progress {
        self.inner.progress()
    }

    fn end(&mut self, events: &mut Events) {
        self.inner.end(events);
    }
}

/// Returns the failure in a frame that no dialect recognises.
fn reported(name: Option<&str>, data: &str) -> Option<Report> {
    // Parsing every frame twice would be a waste.
    let is_likely =
        ["\"error\"", "\"detail\"", "\"message\"", "\"msg\""].iter().any(|sign| data.contains(sign));
    if !is_likely || name.is_some_and(|name| name.starts_with(FAILURE)) {
        return None;
    }
    let value: Value = serde_json::from_str(data).ok()?;
    let fields = value.as_object()?;
    let is = |key: &str, word: &str| fields.get(key).and_then(Value::as_str) == Some(word);
    let speaks = ["detail", "message", "msg"].iter().any(|key| match fields.get(*key) {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(problems)) => *key == "detail" && !problems.is_empty(),
        Some(Value::Object(_)) => *key == "detail",
        _ => false,
    });
    let is_answer = ANSWERS.iter().any(|key| fields.contains_key(*key));
    let names_failure = fields.get("type").is_some_and(is_failure_type)
        || fields.contains_key("detail")
        || fields.contains_key("error")
        || fields.get("code").is_some_and(is_failure_code)
        || fields.get("status").is_some_and(is_failure_code)
        || fields.get("success") == Some(&Value::Bool(false));
    // A gateway may also say in a message how long the queue is.
    let is_bare = fields.keys().all(|key| BESIDE.contains(&key.as_str()));
    let is_failure = is("object", "error") || speaks && !is_answer && (names_failure || is_bare);
    is_failure.then(|| Report::of_value(&value))
}

/// Returns whether a code or status is that of a failure.
fn is_failure_code(code: &Value) -> bool {
    match code {
        Value::String(word) => {
            word.parse().map_or_else(|_| is_failure_type(code), |number: u64| number >= 400)
        }
        number => number.as_u64().is_some_and(|number| number >= 400),
    }
}

/// Returns whether the type of a message that speaks is no event's, such as `BadRequestError` or `invalid_request`.
fn is_failure_type(kind: &Value) -> bool {
    let kind = kind.as_str().unwrap_or_default().to_ascii_lowercase();
    kind.contains("error") || kind.contains("invalid") || kind.contains("fail") || kind.contains("exception")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_every_form_differ_from_answers() {
        let check = |data: &str, is_failure: bool| {
            assert_eq!(reported(None, data).is_some(), is_failure, "{data}");
        };
        check(r#"{"object":"error","message":"CUDA error","type":"InternalServerError","code":500}"#, true);
        check(r#"{"object":"error","message":null}"#, true);
        check(r#"{"detail":"not available in your region"}"#, true);
        check(r#"{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}]}"#, true);
        check(r#"{"message":"Service unavailable"}"#, true);
        check(r#"{"code":1302,"msg":"the rate limit is reached","success":false}"#, true);
        check(r#"{"type":"error","message":"Overloaded"}"#, true);
        check(r#"{"model":"m","message":{"role":"assistant","content":"error"},"done":false}"#, false);
        check(r#"{"choices":[{"delta":{"content":"the word \"error\""}}]}"#, false);
        check(r#"{"type":"message_start","message":{"role":"assistant"}}"#, false);
        check(r#"{"type":"response.output_text.delta","delta":"\"error\""}"#, false);
        check(r#"{"type":"keepalive","message":"still here"}"#, false);
        check(r#"{"status":"queued","message":"three are before you"}"#, false);
        check(r#"{"status":503,"message":"no worker is free"}"#, true);
        check(r#"{"role":"assistant","message":"hi"}"#, false);
        check(r#"{"message":""}"#, false);
        check("\"error\"", false);
        assert!(reported(Some(FAILURE), r#"{"message":"throttled"}"#).is_none());
    }
}
