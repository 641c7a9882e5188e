//! A service's account of a failure: a code and a message, in any of the formats that services use.
//!
//! OpenAI, Anthropic and Google nest an `error` object, Ollama and some proxies put a string there, Mistral and AWS
//! have a top-level `message`, FastAPI servers `detail`. Google adds `details` with the wait and the exhausted quota.
//! Proxies in between respond with an HTML page.

use std::time::Duration;

use aethon_core::untrusted::shortened_between_words;
use aethon_core::visible::readable;
use serde_json::Value;

/// A failure in the service's words.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Codes and types in lower case, for matching.
    pub(super) codes: String,
    /// The message, on one line.
    pub(super) message: String,
    /// How long it asks to wait, if the body says so.
    pub(super) wait: Option<Duration>,
    /// Whether it was a web page.
    pub(super) is_page: bool,
}

/// How much of a message is kept, in characters.
const MAX_LEN: usize = 300;

impl Report {
    /// Reads a body.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of_value(&value),
            Err(_) => Self::of_text(&String::from_utf8_lossy(body)),
        }
    }

    /// Reads a JSON value.
    pub(crate) fn of_value(value: &Value) -> Self {
        let value = if let Value::Array(values) = value { values.first().unwrap_or(value) } else { value };
        let error = match value.get("error") {
            Some(error @ (Value::Object(_) | Value::String(_))) => error,
            _ => value,
        };
        let mut codes = Vec::new();
        for place in [value, error] {
            for key in ["code", "type", "status", "param", "__type"] {
                match place.get(key) {
                    Some(Value::String(code)) => codes.push(code.to_lowercase()),
                    Some(Value::Number(code)) => codes.push(code.to_string()),
                    _ => {}
                }
            }
        }
        // llama.cpp states the context window beside the message.
        codes.extend(error.get("n_ctx").and_then(Value::as_u64).map(|tokens| format!("n_ctx={tokens}")));
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        codes.extend(details.iter().flat_map(detail_codes));
        codes.extend(field_of(value));
        let wait = details.iter().find_map(|detail| seconds(detail.get("retryDelay")?.as_str()?));
        let message = message_of(error).or_else(|| message_of(value)).unwrap_or_default();
        Self { codes: codes.join(" "), message: one_line(&message), wait, is_page: false }
    }

    /// Adds a code that came outside the body.
    pub(crate) fn with_code(mut self, code: &str) -> Self {
        self.codes = format!("{} {}", code.to_lowercase(), self.codes).trim().to_owned();
        self
    }

    fn of_text(text: &str) -> Self {
        let start =
            text.trim_start().get(..100.min(text.trim_start().len())).unwrap_or_default().to_lowercase();
        let is_page =
            start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<?xml");
        let message = if is_page { title_of(text).unwrap_or_default() } else { one_line(text) };
        Self { message, is_page, ..Self::default() }
    }

    /// Returns codes and message together in lower case.
    pub(super) fn words(&self) -> String {
        format!("{} {}", self.codes, self.message.to_lowercase())
    }
}

/// Returns the reason, and the names of exceeded quotas.
fn detail_codes(detail: &Value) -> Vec<String> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_lowercase);
    let violations =
        detail.get("violations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let quotas = violations.iter().filter_map(|violation| text(violation, "quotaId"));
    let fields = detail.get("fieldViolations").and_then(Value::as_array).into_iter().flatten();
    let fields = fields.filter_map(|violation| text(violation, "field"));
    text(detail, "reason").into_iter().chain(quotas).chain(fields).collect()
}

/// Returns the place in the request that FastAPI names beside its message: `body.tools.3.function`.
fn field_of(value: &Value) -> Option<String> {
    let problems = value.get("detail").or_else(|| value.get("message")?.get("detail"))?;
    let steps = problems.get(0)?.get("loc")?.as_array()?.iter().take(8);
    let step = |step: &Value| step.as_str().map_or_else(|| step.to_string(), str::to_lowercase);
    Some(steps.map(step).collect::<Vec<_>>().join("."))
}

/// Parses `34s` or `34.5s`, Google's format for durations.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|wait| *wait < Duration::from_secs(30 * 24 * 3600))
}

fn message_of(value: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(text) = text(value) {
        return Some(text);
    }
    for key in ["message", "Message", "detail", "msg", "error_description"] {
        let found = match value.get(key) {
            Some(Value::String(message)) => Some(message.clone()),
            // FastAPI: a list of errors by field.
            Some(Value::Array(problems)) => problems.first().and_then(message_of),
            Some(nested @ Value::Object(_)) => message_of(nested),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn title_of(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    Some(one_line(&page[start..end]))
}

fn one_line(text: &str) -> String {
    // What could control a terminal goes, and what hides or reorders text is shown for what it is.
    let text = readable(&text.replace(|c: char| c.is_control(), " "));
    let words: Vec<&str> = text.split_whitespace().collect();
    // A service may quote a key.
    shortened_between_words(words.join(" "), MAX_LEN)
}
