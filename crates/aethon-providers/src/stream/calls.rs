//! What every dialect must get right about tool calls: ids and arguments.

use aethon_core::ids;
use serde_json::{Map, Value};

/// Parses the streamed text of a call's arguments. Nothing, or `null`, is an empty object. Anything but a JSON object
/// (cut off by the output limit, say) is kept as a string, which the tool executor answers.
pub(crate) fn arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => object,
        Ok(Value::Null) => Value::Object(Map::new()),
        _ => Value::String(text.to_owned()),
    }
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
    }
}
