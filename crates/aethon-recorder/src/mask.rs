//! Masks secrets before anything is recorded.

use std::borrow::Cow;

use aethon_core::redact::Redactor;
use aethon_core::secret::MASK;
use serde_json::Value;

/// Masks the secrets in a text.
pub(crate) fn text<'t>(redactor: &Redactor, text: &'t str) -> Cow<'t, str> {
    redactor.redact_kept(text)
}

/// Masks the secrets in every string of a document. A value under a key that names a secret is masked whatever it looks
/// like.
pub(crate) fn value(redactor: &Redactor, document: &mut Value) {
    match document {
        Value::String(text) => {
            if let Cow::Owned(masked) = redactor.redact_kept(text) {
                *text = masked;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|one| value(redactor, one)),
        Value::Object(fields) => {
            if fields.keys().any(|key| matches!(redactor.redact_kept(key), Cow::Owned(_))) {
                let named = std::mem::take(fields).into_iter();
                fields.extend(named.map(|(key, field)| (redactor.redact_kept(&key).into_owned(), field)));
            }
            for (key, field) in fields.iter_mut() {
                match field {
                    // The tag that tells the parts of a document apart.
                    Value::String(_) if key == "type" => {}
                    Value::String(text) if !text.is_empty() && Redactor::names_secret(key) => {
                        MASK.clone_into(text);
                    }
                    field => value(redactor, field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[test]
fn every_string_is_looked_at_and_no_form_is_broken() {
    use aethon_core::secret::Secret;
    use serde_json::json;
    let redactor = Redactor::new([Secret::new("open sesame")]);
    let mut document = json!({
        "type": "tool_call",
        "input": {"password": "x", "command": "echo open sesame", "tokens": "none", "n": 7, "token": 12},
        "list": ["sk-abcdefgh12345678", {"text": "b3BlbiBzZXNhbWU="}, {"open sesame": 1}, "fine"],
    });
    value(&redactor, &mut document);
    let expected = json!({
        "type": "tool_call",
        "input": {"password": "***", "command": "echo ***", "tokens": "none", "n": 7, "token": 12},
        "list": ["***", {"text": "***="}, {"***": 1}, "fine"],
    });
    assert_eq!(document, expected);
}
