//! The events of a streamed response, read leniently: every field may be missing or of another type.

use serde::Deserialize;
use serde_json::Value;

use crate::counted;
use crate::stream::loose;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Event {
    #[serde(rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "loose::index")]
    pub(super) output_index: Option<i64>,
    pub(super) delta: Option<Value>,
    pub(super) annotation: Option<Value>,
    pub(super) arguments: Option<Value>,
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) item: Option<Item>,
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) response: Option<Response>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Item {
    #[serde(rename = "type", deserialize_with = "loose::text")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) call_id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
    pub(super) content: Option<Value>,
    #[serde(deserialize_with = "loose::list")]
    pub(super) summary: Vec<Part>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) encrypted_content: Option<String>,
    /// A picture that a tool of the service made, in base64.
    pub(super) result: Option<Value>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) output_format: Option<String>,
    /// What a search did.
    pub(super) action: Option<Value>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) status: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Part {
    #[serde(deserialize_with = "loose::text")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) refusal: Option<String>,
    #[serde(deserialize_with = "loose::list")]
    pub(super) annotations: Vec<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Response {
    #[serde(deserialize_with = "loose::text")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    pub(super) status: Option<String>,
    #[serde(deserialize_with = "loose::list")]
    pub(super) output: Vec<Item>,
    #[serde(deserialize_with = "counted::counts")]
    pub(super) usage: Option<UsageWire>,
    #[serde(deserialize_with = "loose::maybe")]
    pub(super) incomplete_details: Option<Incomplete>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Incomplete {
    #[serde(deserialize_with = "loose::text")]
    pub(super) reason: Option<String>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
pub(super) struct UsageWire {
    #[serde(alias = "prompt_tokens")]
    pub(super) input_tokens: Option<u64>,
    #[serde(alias = "completion_tokens")]
    pub(super) output_tokens: Option<u64>,
    pub(super) total_tokens: Option<u64>,
    #[serde(alias = "prompt_tokens_details")]
    pub(super) input_tokens_details: Option<InputDetails>,
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
}

/// Returns the parts of a content of any form.
pub(super) fn parts(content: Option<Value>) -> Vec<Part> {
    match content {
        Some(Value::Array(parts)) => parts
            .into_iter()
            .filter_map(|part| match part {
                Value::String(text) => Some(Part { text: Some(text), ..Part::default() }),
                part => serde_json::from_value(part).ok(),
            })
            .collect(),
        content => {
            let text = content.and_then(loose::text_of);
            text.map(|text| Part { text: Some(text), ..Part::default() }).into_iter().collect()
        }
    }
}

/// Returns a piece of arguments as text.
pub(super) fn piece(arguments: Option<Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(whole) => whole.to_string(),
    }
}
