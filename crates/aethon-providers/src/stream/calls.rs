//! What every dialect must get right about tool calls: ids and arguments.

use std::borrow::Cow;

use aethon_core::ids;
use serde_json::{Map, Value};

use super::loose;

/// What some models put before the names of tools, because their own format has namespaces.
const NAMESPACES: [&str; 3] = ["functions.", "default_api.", "tools."];
/// How often arguments may be encoded as a string within a string.
const MAX_ENCODINGS: usize = 3;

/// Returns the name of the tool that a model means. Names of tools have no dots.
pub(crate) fn tool_name(given: &str) -> String {
    let name = given.trim();
    match NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace)) {
        // `functions.shell:0` has the number of the call.
        Some(rest) => rest.split(':').next().unwrap_or(rest).to_owned(),
        None => name.to_owned(),
    }
}

/// Reads arguments of any form: an object, or its text.
pub(crate) fn arguments_of(value: Option<Value>) -> Value {
    match value {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(object @ Value::Object(_)) => object,
        Some(Value::String(text)) => arguments(&text),
        Some(other) => arguments(&other.to_string()),
    }
}

/// Parses the streamed text of a call's arguments. Nothing, or `null`, is an empty object. Anything but a JSON object
/// (cut off by the output limit, say) is kept as a string, which the tool executor answers.
pub(crate) fn arguments(text: &str) -> Value {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MAX_ENCODINGS {
        if text.trim().is_empty() {
            return Value::Object(Map::new());
        }
        match loose::parse(&text) {
            Ok(object @ Value::Object(_)) => return object,
            Ok(Value::Null) => return Value::Object(Map::new()),
            // Encoded twice.
            Ok(Value::String(inner)) if inner.trim_start().starts_with(['{', '"']) => {
                text = Cow::Owned(inner)
            }
            Ok(_) => break,
            Err(_) => return repeated(&text).unwrap_or_else(|| Value::String(text.into_owned())),
        }
    }
    Value::String(text.into_owned())
}

/// Reads arguments that came more than once: empty ones before the real ones, or the whole after its pieces.
fn repeated(text: &str) -> Option<Value> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut values = values.collect::<Result<Vec<_>, _>>().ok()?;
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    values.retain(|value| !is_empty(value));
    values.dedup();
    let single = values.pop()?;
    (values.is_empty() && single.is_object()).then_some(single)
}

/// Generates ids for the calls of one response whose service provides none.
#[derive(Debug)]
pub(crate) struct CallIds {
    prefix: String,
    made: u32,
}

impl CallIds {
    /// Creates ids that no other response has.
    pub(crate) fn random() -> Self {
        // The last 16 digits are the random ones; the full id would be too long for some services.
        Self::with_prefix(&ids::unique()[16..])
    }

    /// Creates ids that begin with `call_` and this prefix.
    pub(crate) fn with_prefix(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), made: 0 }
    }

    /// Returns the next id.
    pub(crate) fn make(&mut self) -> String {
        self.made += 1;
        format!("call_{}_{}", self.prefix, self.made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_an_object_or_the_text_itself() {
        let check = |text: &str, expected: Value| assert_eq!(arguments(text), expected, "{text:?}");
        check("{\"a\": 1}", json!({"a": 1}));
        check("", json!({}));
        check(" null ", json!({}));
        check("{\"a\": \"cut o", json!("{\"a\": \"cut o"));
        check("[1]", json!("[1]"));
        check("\"text\"", json!("\"text\""));
        check(r#"{}{"a": 1}"#, json!({"a": 1}));
        check(r#"null{"a": 1}"#, json!({"a": 1}));
        check(r#"{"a": 1}{"a": 1}"#, json!({"a": 1}));
        check(r#"{"a": 1}{"a": 2}"#, json!(r#"{"a": 1}{"a": 2}"#));
        check(r#""{\"a\": 1}""#, json!({"a": 1}));
        check(r#""\"{}\"""#, json!({}));
        check(r#"{"a": "\ud83d"}"#, json!({"a": "\u{fffd}"}));
    }

    #[test]
    fn namespaces_of_models_are_no_part_of_a_name() {
        let check = |given: &str, expected: &str| assert_eq!(tool_name(given), expected);
        check("functions.shell", "shell");
        check("functions.shell:0", "shell");
        check("default_api.shell", "shell");
        check(" shell ", "shell");
        check("mail__send:now", "mail__send:now");
    }
}
