//! The fields of a JSON object that a client sent, read one by one so that a refusal can name the field.

use serde_json::{Map, Value};

use crate::error::Problem;
use crate::request;

/// A JSON object.
#[derive(Clone)]
pub(crate) struct Fields(Map<String, Value>);

impl From<Map<String, Value>> for Fields {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}

impl Fields {
    /// Returns the object.
    pub(crate) fn into_inner(self) -> Map<String, Value> {
        self.0
    }

    /// Parses a body. Returns 400 if it is not JSON, 422 if it is not an object.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Problem> {
        match request::parse(body)? {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(Problem::invalid("body", "must be a JSON object")),
        }
    }

    /// Returns a string, or `None` if it is absent or null. Any other type is 422.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::invalid(name, "must be a string")),
        }
    }

    /// Returns a non-negative integer, or `None` if it is absent or null. Anything else is 422.
    pub(crate) fn whole_number(&mut self, name: &'static str) -> Result<Option<u32>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().and_then(|number| u32::try_from(number).ok()) {
                Some(number) => Ok(Some(number)),
                None => Err(Problem::invalid(name, "must be a whole number, not below 0")),
            },
        }
    }

    /// Returns a string, `Some(None)` if it is null, or `None` if it is absent. Any other type is 422.
    pub(crate) fn nullable_text(&mut self, name: &'static str) -> Result<Option<Option<String>>, Problem> {
        if !self.0.contains_key(name) {
            return Ok(None);
        }
        self.text(name).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_field() {
        let check = |body: &str, expected: Result<&str, u16>| {
            let text = Fields::parse(body.as_bytes()).and_then(|mut fields| fields.text("text"));
            let text = text.map_err(|problem| problem.status().as_u16());
            assert_eq!(text.map(Option::unwrap_or_default), expected.map(str::to_owned), "{body}");
        };
        check(r#"{"text": "hi", "more": [1]}"#, Ok("hi"));
        check(r#"{"text": ""}"#, Ok(""));
        check(r#"{"text": null}"#, Ok(""));
        check(r#"{"text": 7}"#, Err(422));
        check("{}", Ok(""));
        check("[]", Err(422));
        check("\"text\"", Err(422));
        check("", Err(400));
        check("  ", Err(400));
        check("{\"text\": \"hi\"} x", Err(400));
        check("{\"text\": \"\u{1}\"}", Err(400));
        check("{text: 1}", Err(400));
    }
}
