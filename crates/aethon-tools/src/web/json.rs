//! Asking a service that speaks JSON: the request, the key that opens it, and the answer.

use aethon_core::secret::{MASK, Secret};
use aethon_core::tool::ToolError;
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::body::Cut;
use super::client::{WebClient, WebRequest};
use super::failure::WebError;
use super::fetch::status;
use super::target::Target;

/// The most bytes of an answer.
const MOST: usize = 8 << 20;
/// How much is shown of an answer that is no JSON, in characters.
const SHOWN: usize = 500;

/// A request to a service that speaks JSON.
pub(super) struct Exchange {
    request: WebRequest,
    keys: Vec<Secret>,
}

impl Exchange {
    /// A GET.
    pub(super) fn get(target: Target) -> Self {
        let accept = (header::ACCEPT, HeaderValue::from_static("application/json"));
        Self { request: WebRequest { target, headers: vec![accept], body: None }, keys: Vec::new() }
    }

    /// A POST of this document.
    pub(super) fn post(target: Target, document: &Value) -> Self {
        let mut exchange = Self::get(target);
        exchange.request.headers.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
        exchange.request.body = Some(document.to_string().into_bytes());
        exchange
    }

    /// With this key in a header, behind a word such as `Bearer `.
    pub(super) fn with_key(mut self, name: HeaderName, word: &str, key: &Secret) -> Result<Self, ToolError> {
        let value = HeaderValue::from_str(&format!("{word}{}", key.expose().trim()));
        let mut value = value.map_err(|_| {
            ToolError::failed(
                "the configured key holds characters that no header can; the owner must set it anew",
            )
        })?;
        value.set_sensitive(true);
        self.request.headers.push((name, value));
        self.keys.push(key.clone());
        Ok(self)
    }

    /// Sends it. The status and the document that came back; the error says what went wrong, without the key.
    pub(super) async fn send(self, client: &WebClient) -> Result<(u16, Value), ToolError> {
        let keys = self.keys;
        let place = self.request.target.place();
        let response = client.send(self.request, appetite).await.map_err(|error| match error {
            WebError::Refused(refusal) => ToolError::from(WebError::Refused(refusal)),
            WebError::Failed(why) => ToolError::failed(without(&keys, &why)),
        })?;
        if response.body.cut == Some(Cut::Long) {
            return Err(ToolError::failed(format!(
                "the answer of {place} is longer than {} MiB",
                MOST >> 20
            )));
        }
        // A service may say the key again, in an error above all.
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

/// Text with a mask where a key stood.
fn without(keys: &[Secret], text: &str) -> String {
    let keys = keys.iter().map(|key| key.expose().trim()).filter(|key| !key.is_empty());
    keys.fold(text.to_owned(), |text, key| text.replace(key, MASK))
}

fn appetite(_status: u16, _headers: &HeaderMap) -> usize {
    MOST
}

/// A document for reading. Text stands for itself.
pub(super) fn pretty(document: &Value) -> String {
    match document {
        Value::String(text) => text.clone(),
        // Writing what was read cannot fail.
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}
