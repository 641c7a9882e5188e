//! Queries and bodies read as types, whose schemas say what is allowed: the same ones that the OpenAPI document shows.
//!
//! A value is checked against the schema of its field, so that a refusal names the field, and becomes the type then. What
//! no schema can say is checked by the handler. An absent query parameter and an empty one are the same.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::schema::{Schemas, form};

/// How many entries a list returns: `USUAL` of them unless the request says so, and `MOST` at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Limit<const USUAL: usize, const MOST: usize>(usize);

impl<const USUAL: usize, const MOST: usize> Limit<USUAL, MOST> {
    /// Returns the number.
    pub(crate) fn get(self) -> usize {
        self.0
    }
}

impl<const USUAL: usize, const MOST: usize> Default for Limit<USUAL, MOST> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<const USUAL: usize, const MOST: usize> JsonSchema for Limit<USUAL, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Limit{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let description = "The most entries that are returned.";
        json_schema!({
            "type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL, "description": description,
        })
    }
}

impl Request {
    /// Reads the query as this type. A parameter that does not fit its schema is 422.
    pub(crate) fn queried<T: JsonSchema + DeserializeOwned + 'static>(&self) -> Result<T, Problem> {
        let schema = schema::<T>();
        let mut values = Map::new();
        for (name, field) in properties(&schema) {
            let Some(text) = self.query(name) else { continue };
            values.insert(name.clone(), parsed(field, text));
        }
        check(&schema, &values)?;
        read(Value::Object(values))
    }

    /// Reads the body as this type. A body that is not JSON is 400, a field that does not fit its schema is 422.
    pub(crate) async fn sent<T: JsonSchema + DeserializeOwned + 'static>(&mut self) -> Result<T, Problem> {
        let body = self.read().await?;
        body_as(&body)
    }
}

/// Reads a JSON document as this type, as [`Request::sent`] does.
pub(crate) fn body_as<T: JsonSchema + DeserializeOwned + 'static>(body: &[u8]) -> Result<T, Problem> {
    read(Value::Object(checked::<T>(body)?))
}

/// Reads a JSON document whose fields fit this type, for a handler that reads them one by one.
pub(crate) fn fields_as<T: JsonSchema + 'static>(body: &[u8]) -> Result<Fields, Problem> {
    checked::<T>(body).map(Fields::from)
}

fn checked<T: JsonSchema + 'static>(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    let schema = schema::<T>();
    let mut fields = Fields::parse(body)?.into_inner();
    // Null is as good as absent, unless it says something.
    fields.retain(|name, value| !value.is_null() || may_be(&schema["properties"][name], "null"));
    check(&schema, &fields)?;
    Ok(fields)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    T::deserialize(value).map_err(|error| Problem::invalid("body", error.to_string()))
}

/// Returns the whole schema of a type. It is made once.
fn schema<T: JsonSchema + 'static>() -> Arc<Value> {
    static KNOWN: OnceLock<RwLock<BTreeMap<TypeId, Arc<Value>>>> = OnceLock::new();
    let known = KNOWN.get_or_init(RwLock::default);
    let id = TypeId::of::<T>();
    if let Some(schema) = known.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return Arc::clone(schema);
    }
    let schema = Arc::new(Schemas::of_requests().schema(form::<T>()));
    known.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&schema));
    schema
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// Checks the fields of an object, and refuses those that do not fit.
fn check(schema: &Value, fields: &Map<String, Value>) -> Result<(), Problem> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|name| !fields.contains_key(*name));
    let mut faults: Vec<(String, String)> =
        missing.map(|name| (name.to_owned(), "is required".to_owned())).collect();
    for (name, field) in properties(schema) {
        if let Some(fault) = fields.get(name).and_then(|value| fault(field, value)) {
            faults.push((name.clone(), fault));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Problem::invalid_fields(faults)) }
}

/// Returns what is wrong with a value, in words that follow the name of its field.
fn fault(schema: &Value, value: &Value) -> Option<String> {
    if value.is_null() && may_be(schema, "null") {
        return None;
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().find(|choice| choice["type"] != "null").and_then(|one| fault(one, value));
    }
    if let Some(words) = schema["enum"].as_array() {
        return (!words.contains(value)).then(|| format!("must be {}", listed(words)));
    }
    match value {
        _ if schema["type"].is_null() => None,
        Value::String(text) if may_be(schema, "string") => fault_of_text(schema, text),
        Value::Number(number) if may_be(schema, "integer") => {
            let number = number.as_u64().filter(|number| is_in_range(schema, *number));
            number.is_none().then(|| numbers(schema))
        }
        Value::Number(_) if may_be(schema, "number") => None,
        Value::Bool(_) if may_be(schema, "boolean") => None,
        Value::Array(items) if may_be(schema, "array") => {
            let faulty = items.iter().enumerate();
            let mut faulty = faulty.filter_map(|(at, item)| Some((at, fault(&schema["items"], item)?)));
            faulty.next().map(|(at, fault)| format!("entry {}: {fault}", at + 1))
        }
        Value::Object(fields) if may_be(schema, "object") => fault_of_object(schema, fields),
        _ => Some(kind(schema)),
    }
}

fn fault_of_text(schema: &Value, text: &str) -> Option<String> {
    let (least, most) = (schema["minLength"].as_u64(), schema["maxLength"].as_u64());
    if least.is_some_and(|least| least > 0) && text.trim().is_empty() {
        return Some("must not be empty".to_owned());
    }
    let length = text.trim().chars().count() as u64;
    let most = most.filter(|most| length > *most)?;
    Some(format!("must not be longer than {most} characters"))
}

fn fault_of_object(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
        return Some(format!("`{missing}` is required"));
    }
    properties(schema)
        .find_map(|(name, field)| fault(field, fields.get(name)?).map(|fault| format!("`{name}` {fault}")))
}

/// Whether the schema allows values of this kind.
fn may_be(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(own) => own == kind,
        Value::Array(several) => several.iter().any(|own| own == kind),
        _ => schema["anyOf"].as_array().into_iter().flatten().any(|choice| may_be(choice, kind)),
    }
}

fn is_in_range(schema: &Value, number: u64) -> bool {
    schema["minimum"].as_u64().is_none_or(|least| number >= least)
        && schema["maximum"].as_u64().is_none_or(|most| number <= most)
}

fn numbers(schema: &Value) -> String {
    let least = schema["minimum"].as_u64().unwrap_or(0);
    match schema["maximum"].as_u64() {
        Some(most) => format!("must be a whole number from {least} to {most}"),
        None => format!("must be a whole number, not below {least}"),
    }
}

fn kind(schema: &Value) -> String {
    if may_be(schema, "integer") {
        return numbers(schema);
    }
    let words = [
        ("string", "must be a string"),
        ("boolean", "must be true or false"),
        ("number", "must be a number"),
        ("array", "must be a list"),
        ("object", "must be a JSON object"),
    ];
    let own = words.into_iter().find(|(kind, _)| may_be(schema, kind));
    own.map_or("is of the wrong type", |(_, sentence)| sentence).to_owned()
}

/// Joins words as a sentence does: `a, b or c`.
fn listed(words: &[Value]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap_or("null")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Reads a parameter as the kind of value that its field has; as text if it is none. Words count in any case.
fn parsed(schema: &Value, text: String) -> Value {
    let words = schema["enum"].as_array().or_else(|| {
        schema["anyOf"].as_array().into_iter().flatten().find_map(|choice| choice["enum"].as_array())
    });
    let mut words = words.into_iter().flatten().filter_map(Value::as_str);
    if let Some(word) = words.find(|word| word.eq_ignore_ascii_case(&text)) {
        return word.into();
    }
    if may_be(schema, "integer")
        && let Ok(number) = text.parse::<u64>()
    {
        return number.into();
    }
    match text.as_str() {
        "true" if may_be(schema, "boolean") => true.into(),
        "false" if may_be(schema, "boolean") => false.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Tea {
        #[schemars(length(min = 1, max = 8))]
        name: String,
        #[schemars(range(min = 1, max = 9))]
        minutes: Option<u32>,
        #[serde(default)]
        limit: Limit<5, 10>,
        #[serde(default)]
        cold: bool,
        kind: Option<Kind>,
        steps: Option<Vec<Step>>,
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    enum Kind {
        /// Of leaves.
        Green,
        /// Of mint.
        Mint,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Step {
        title: String,
    }

    #[test]
    fn a_body_is_checked_by_the_schema_of_its_type() {
        let check = |body: Value, fault: &str| {
            let refused = body_as::<Tea>(body.to_string().as_bytes()).map(drop).unwrap_err();
            assert_eq!(refused.status(), 422, "{body}");
            let (_, document) = refused.into_parts();
            let document: Value = serde_json::from_slice(&document).unwrap();
            let first = &document["errors"][0];
            let seen = format!("{} {}", first["field"].as_str().unwrap(), first["message"].as_str().unwrap());
            assert_eq!(seen, fault, "{body}");
        };
        check(json!({}), "name is required");
        check(json!({"name": null}), "name is required");
        check(json!({"name": 7}), "name must be a string");
        check(json!({"name": " "}), "name must not be empty");
        check(json!({"name": "x".repeat(9)}), "name must not be longer than 8 characters");
        check(json!({"name": "a", "minutes": 10}), "minutes must be a whole number from 1 to 9");
        check(json!({"name": "a", "minutes": "3"}), "minutes must be a whole number from 1 to 9");
        check(json!({"name": "a", "minutes": 1.5}), "minutes must be a whole number from 1 to 9");
        check(json!({"name": "a", "limit": 0}), "limit must be a whole number from 1 to 10");
        check(json!({"name": "a", "cold": "yes"}), "cold must be true or false");
        check(json!({"name": "a", "kind": "black"}), "kind must be green or mint");
        check(json!({"name": "a", "steps": 1}), "steps must be a list");
        check(json!({"name": "a", "steps": [{"title": "x"}, {}]}), "steps entry 2: `title` is required");
        check(json!({"name": "a", "steps": [{"title": 1}]}), "steps entry 1: `title` must be a string");
        assert_eq!(body_as::<Tea>(b"[]").unwrap_err().status(), 422);
        assert_eq!(body_as::<Tea>(b"{").unwrap_err().status(), 400);
        let body = json!({
            "name": "é".repeat(8), "minutes": null, "cold": null, "kind": "mint", "steps": [], "more": [1]
        });
        let tea = body_as::<Tea>(body.to_string().as_bytes()).unwrap();
        assert_eq!((tea.minutes, tea.limit.get(), tea.cold, tea.kind), (None, 5, false, Some(Kind::Mint)));
        assert_eq!((tea.name.chars().count(), tea.steps.map(|steps| steps.len())), (8, Some(0)));
        let steps = body_as::<Tea>(br#"{"name": "a", "steps": [{"title": "x"}]}"#).unwrap().steps.unwrap();
        assert_eq!(steps[0].title, "x");
    }
}
