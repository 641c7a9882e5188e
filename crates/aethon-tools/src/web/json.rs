//! Talks to JSON services: the request, its key, and the response.

use aethon_core::secret::{MASK, Secret};
use aethon_core::tool::ToolError;
use aethon_core::turn::Trust;
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::body::Cut;
use super::client::{WebClient, WebRequest};
use super::failure::WebError;
use super::fetch::status;
use super::target::Target;

/// Maximum size of a response in bytes.
const MAX_COUNT: usize = 8 << 20;
/// How much of a response that is not JSON is shown, in characters.
const SHOWN: usize = 500;

/// A request to a JSON service.
pub(super) struct JsonRequest {
    request: WebRequest,
    keys: Vec<Secret>,
}

impl JsonRequest {
    /// Creates a GET request.
    pub(super) fn get(target: Target) -> Self {
        let accept = (header::ACCEPT, HeaderValue::from_static("application/json"));
        Self { request: WebRequest { target, headers: vec![accept], body: None }, keys: Vec::new() }
    }

    /// Creates a POST request with this document.
    pub(super) fn post(target: Target, document: &Value) -> Self {
        let mut request = Self::get(target);
        request.request.headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
        request.request.body = Some(document.to_string().into_bytes());
        request
    }

    /// Adds a key as a header, after a prefix such as `Bearer `.
    pub(super) fn with_key(mut self, name: HeaderName, word: &str, key: &Secret) -> Result<Self, ToolError> {
        let value = HeaderValue::from_str(&format!("{word}{}", key.expose().trim()));
        let mut value = value.map_err(|_| {
            ToolError::failed(
                "the configured key holds characters that no header can; the owner must set it again",
            )
        })?;
        value.set_sensitive(true);
        self.request.headers.push((name, value));
        self.keys.push(key.clone());
        Ok(self)
    }

    /// Sends the request and returns status and document. The error says what went wrong, without the key.
    pub(super) async fn send(self, client: &WebClient, trust: Trust) -> Result<(u16, Value), ToolError> {
        let keys = self.keys;
        let place = self.request.target.host_and_port();
        let response = client.send(self.request, trust, body_limit).await.map_err(|error| match error {
            WebError::Refused(refusal) => ToolError::from(WebError::Refused(refusal)),
            WebError::Failed(why) => ToolError::failed(without(&keys, &why)),
        })?;
        if response.body.cut == Some(Cut::Long) {
            return Err(ToolError::failed(format!(
                "the answer of {place} is longer than {} MiB",
                MAX_COUNT >> 20
            )));
        }
        // A service may echo the key, above all in an error.
        let text = without(&keys, &String::from_utf8_lossy(&response.body.bytes));
        serde_json::from_str(&text).map(|document| (response.status, document)).map_err(|_| {
            let said: String = text.trim().chars().take(SHOWN).collect();
            let status = status(response.status);
            ToolError::failed(
                format!("{place} answered {status} with something that is no JSON\n{said}").trim_end(),
            )
        })
    }
}

/// Masks the keys in a text.
fn without(keys: &[Secret], text: &str) -> String {
    let keys = keys.iter().map(|key| key.expose().trim()).filter(|key| !key.is_empty());
    keys.fold(text.to_owned(), |text, key| text.replace(key, MASK))
}

fn body_limit(_status: u16, _headers: &HeaderMap) -> usize {
    MAX_COUNT
}

/// Formats a document for reading. A string is returned unchanged.
pub(super) fn pretty(document: &Value) -> String {
    match document {
        Value::String(text) => text.clone(),
        // Serializing a parsed document cannot fail.
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}
