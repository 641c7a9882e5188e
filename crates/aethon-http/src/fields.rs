//! The fields of a JSON object that a client sent, read one by one so that a refusal can name the field.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::error::Problem;
use crate::request;

/// A JSON object.
#[derive(Clone)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
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

    /// Returns a boolean, or `None` if it is absent or null. Any other type is 422.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(Problem::invalid(name, "must be true or false")),
        }
    }

    /// Returns a value of any type, or `None` if it is absent or null.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Returns a string that must be present and not blank.
    pub(crate) fn required_text(&mut self, name: &'static str) -> Result<String, Problem> {
        match self.text(name)? {
            None => Err(Problem::invalid(name, "is required")),
            Some(text) if text.trim().is_empty() => Err(Problem::invalid(name, "must not be empty")),
            Some(text) => Ok(text),
        }
    }

    /// Returns an integer in this range, or the default.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> Result<usize, Problem> {
        let given = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(default),
            Some(value) => value.as_u64().and_then(|number| usize::try_from(number).ok()),
        };
        given.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            Problem::invalid(name, format!("must be a whole number from {least} to {most}"))
        })
    }

    /// Returns a string, treating a blank one as absent.
    pub(crate) fn optional_text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        Ok(self.text(name)?.filter(|text| !text.trim().is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_field() {
        let check = |body: &str, expected: Result<&str, u16>| {
            let text = Fields::parse(body.as_bytes()).and_then(|mut fields| fields.required_text("text"));
            let text = text.map_err(|problem| problem.status().as_u16());
            assert_eq!(text.as_deref().map_err(|&status| status), expected, "{body}");
        };
        check(r#"{"text": "hi", "more": [1]}"#, Ok("hi"));
        check(r#"{"text": ""}"#, Err(422));
        check(r#"{"text": null}"#, Err(422));
        check(r#"{"text": 7}"#, Err(422));
        check("{}", Err(422));
        check("[]", Err(422));
        check("\"text\"", Err(422));
        check("", Err(400));
        check("  ", Err(400));
        check("{\"text\": \"hi\"} x", Err(400));
        check("{\"text\": \"\u{1}\"}", Err(400));
        check("{text: 1}", Err(400));
    }
}
