//! Thoughts that led to calls, which some services require with the results: DeepSeek and others as the text of
//! `reasoning_content`, OpenRouter as the list of `reasoning_details` with parts that only the model's vendor can
//! read.

use aethon_core::message::Opaque;
use serde_json::{Value, json};

/// The name under which they are stored in a transcript.
const DIALECT: &str = "openai";
const CONTENT: &str = "reasoning_content";
const DETAILS: &str = "reasoning_details";

/// Stores the text of a thought.
pub(super) fn keep_content(text: &str) -> Opaque {
    Opaque { dialect: DIALECT.into(), data: json!({ CONTENT: text }) }
}

/// Stores details.
pub(super) fn keep_details(details: Vec<Value>) -> Opaque {
    Opaque { dialect: DIALECT.into(), data: json!({ DETAILS: details }) }
}

/// Adds a streamed piece of the details. Pieces of one text share type and index.
pub(super) fn add_detail(details: &mut Vec<Value>, piece: Value) {
    let is_same = |last: &Value| {
        last.get("type") == piece.get("type")
            && last.get("index") == piece.get("index")
            && last.get("type").and_then(Value::as_str) != Some("reasoning.encrypted")
    };
    let Some(last) = details.last_mut().filter(|last| is_same(last)) else {
        details.push(piece);
        return;
    };
    let Value::Object(fields) = piece else { return };
    for (name, value) in fields {
        match (last.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(name.as_str(), "text" | "summary") =>
            {
                text.push_str(&more);
            }
            (_, Value::Null) => {}
            (_, value) => last[name] = value,
        }
    }
}

/// Puts a stored thought into an assistant message; several texts are joined.
pub(super) fn put_back(message: &mut Value, opaque: &Opaque) {
    if opaque.dialect != DIALECT {
        return;
    }
    if let Some(text) = opaque.data.get(CONTENT).and_then(Value::as_str) {
        let before = message.get(CONTENT).and_then(Value::as_str).unwrap_or_default();
        message[CONTENT] = format!("{before}{text}").into();
    }
    if let Some(details) = opaque.data.get(DETAILS) {
        message[DETAILS] = details.clone();
    }
}

/// Fills in a required thought that does not exist, for example for another model's calls.
pub(super) fn fill_in(message: &mut Value) {
    if message.get(CONTENT).is_none() && message.get(DETAILS).is_none() {
        message[CONTENT] = "".into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_detail_become_one() {
        let mut details = Vec::new();
        for piece in [
            json!({"type": "reasoning.text", "text": "Let ", "index": 0, "signature": null}),
            json!({"type": "reasoning.text", "text": "me.", "index": 0, "signature": "c2ln"}),
            json!({"type": "reasoning.encrypted", "data": "a", "index": 1}),
            json!({"type": "reasoning.encrypted", "data": "b", "index": 1}),
        ] {
            add_detail(&mut details, piece);
        }
        let expected = [
            json!({"type": "reasoning.text", "text": "Let me.", "index": 0, "signature": "c2ln"}),
            json!({"type": "reasoning.encrypted", "data": "a", "index": 1}),
            json!({"type": "reasoning.encrypted", "data": "b", "index": 1}),
        ];
        assert_eq!(details, expected);
    }
}
