//! How a request asks for an answer that fits a schema: in the form of its dialect, or in words.
//!
//! A service that refuses the field, or a schema in it, is asked once more in words. The engine checks the answer in
//! either case.

use std::sync::Arc;

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::message::{Block, Message, Role};
use aethon_core::model::ModelRequest;
use serde_json::{Value, json};

/// The name of the schema, which services require.
const NAME: &str = "answer";

/// Returns the format for chat completions.
pub(crate) fn chat(schema: &AnswerSchema) -> Value {
    let schema = json!({ "name": NAME, "schema": schema.as_json(), "strict": schema.is_strict() });
    json!({ "type": "json_schema", "json_schema": schema })
}

/// Returns the format for the responses API.
pub(crate) fn responses(schema: &AnswerSchema) -> Value {
    json!({ "type": "json_schema", "name": NAME, "schema": schema.as_json(), "strict": schema.is_strict() })
}

/// Returns the format for the messages API.
pub(crate) fn messages(schema: &AnswerSchema) -> Value {
    json!({ "type": "json_schema", "schema": closed(schema.as_json()) })
}

/// Returns the format for Converse, which takes the schema as a text.
pub(crate) fn converse(schema: &AnswerSchema) -> Value {
    let schema = closed(schema.as_json()).to_string();
    json!({ "type": "json_schema", "structure": { "jsonSchema": { "name": NAME, "schema": schema } } })
}

/// Returns the schema with objects that allow no other properties unless they say so: Claude requires that. An answer that
/// fits it also fits the original.
fn closed(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut closed = fields.clone();
    for (keyword, value) in &mut closed {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(table)) => {
                table.values_mut().for_each(|schema| *schema = self::closed(schema));
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(|schema| *schema = self::closed(schema));
            }
            ("items", schema) => *schema = self::closed(schema),
            _ => {}
        }
    }
    // In a combination, the properties of the other parts would be excluded.
    let is_combined = ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|keyword| fields.contains_key(*keyword));
    if fields.contains_key("properties") && !is_combined {
        closed.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    closed.into()
}

/// Returns the request with the schema in words, behind the message that began the turn: there it stays in place over
/// the steps of the turn, so that services find the beginning in their caches.
pub(crate) fn in_words(request: &ModelRequest) -> ModelRequest {
    let mut request = request.clone();
    let Some(schema) = request.schema.take() else { return request };
    let instruction = Block::text(schema.instruction());
    let messages = Arc::make_mut(&mut request.messages);
    let is_user = |message: &Arc<Message>| message.role == Role::User;
    let question = messages.iter().skip(request.turn_start).position(is_user);
    let place =
        question.map(|place| place + request.turn_start).or_else(|| messages.iter().rposition(is_user));
    match place.and_then(|place| messages.get_mut(place)) {
        Some(message) => Arc::make_mut(message).content.push(instruction),
        None => request.system = format!("{}\n\n{}", request.system, schema.instruction()).into(),
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{conversation, message, request};

    fn schema(schema: Value) -> Arc<AnswerSchema> {
        Arc::new(AnswerSchema::parse(schema).unwrap())
    }

    #[test]
    fn objects_are_closed_unless_they_say_otherwise() {
        let check = |open: Value, expected: Value| assert_eq!(closed(&open), expected);
        check(
            json!({"type": "object", "properties": {"a": {"items": {"properties": {"b": {"type": "string"}}}}}}),
            json!({"type": "object", "additionalProperties": false, "properties": {"a": {"items":
                {"additionalProperties": false, "properties": {"b": {"type": "string"}}}}}}),
        );
        let map = json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}});
        check(map.clone(), map);
        let either = json!({"properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["b"]}]});
        check(either.clone(), either);
    }

    #[test]
    fn words_stand_behind_the_message_of_the_turn() {
        let mut asked = conversation().with_schema(Some(schema(json!({"type": "object"}))));
        asked.turn_start = 4;
        let told = in_words(&asked);
        assert!(told.schema.is_none() && asked.messages[4].content.len() == 1, "the original stays");
        let text = told.messages[4].text();
        assert!(text.starts_with("Thanks, and b?\n\n[Answer with one JSON value"), "{text}");
        assert!(text.contains(r#"{"type":"object"}"#), "{text}");
        assert_eq!(told.messages[..4], asked.messages[..4]);
        let own = vec![message(Role::Assistant, vec![Block::text("Hello.")])];
        let told = in_words(&request(own).with_schema(Some(schema(json!({"type": "string"})))));
        assert!(told.system.starts_with("You help.\n\n[Answer with one JSON value"), "{}", told.system);
    }
}
