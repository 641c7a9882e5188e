//! A JSON Schema that an answer has to fit, and the check whether it does.
//!
//! Models are asked for such an answer in the form of their dialect, but not every service keeps to it, so the engine
//! checks the answer itself. This is the part of JSON Schema that describes data: types, values, properties, items,
//! lengths, ranges and patterns, combinations, and references within the schema. A schema with a keyword that restricts data in
//! another way is refused rather than half checked; keywords that only describe (`title`, `format`, ...) are passed to the
//! model. `check` compares a value with it,
//! `read` finds the JSON in a text, and `place` names places in both.

mod check;
mod place;
mod read;

use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use place::{MAX_DEPTH, Place, resolve};

/// The largest schema in bytes of JSON: it is sent with every request of its turn.
pub const MAX_BYTES: usize = 64 * 1024;

/// Keywords whose value is one schema.
const SCHEMAS: [&str; 3] = ["not", "items", "additionalProperties"];

/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is an object of schemas.
const TABLES: [&str; 3] = ["properties", "$defs", "definitions"];

/// Keywords whose value is a size.
const SIZES: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/// Keywords whose value is a number.
const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// Keywords that restrict data in ways that are not checked here.
const UNCHECKED: [&str; 16] = [
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "patternProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
];

/// The words of `type`.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// The schema of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct AnswerSchema(Value);

/// Why a schema is refused: a sentence part that names the place in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSchema(String);

impl AnswerSchema {
    /// Accepts a schema: an object that this module can check.
    pub fn parse(schema: Value) -> Result<Self, BadSchema> {
        let Value::Object(fields) = &schema else {
            return Err(BadSchema("a JSON Schema is an object such as {\"type\": \"object\"}".into()));
        };
        if fields.is_empty() {
            return Err(BadSchema("the schema is empty, so that any answer would fit it".into()));
        }
        if schema.to_string().len() > MAX_BYTES {
            return Err(BadSchema(format!("the schema is larger than {} KiB", MAX_BYTES / 1024)));
        }
        Examination { root: &schema }.schema(&schema, &Place::root(), 0)?;
        Ok(Self(schema))
    }

    /// Accepts the text of a schema.
    pub fn from_json(text: &str) -> Result<Self, BadSchema> {
        let schema = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| BadSchema(format!("it is not JSON: {error}")))?;
        Self::parse(schema)
    }

    /// Returns the schema as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// Returns whether it has the form that services guarantee in their strict mode: every object lists all of its
    /// properties as required and allows no others.
    pub fn is_strict(&self) -> bool {
        is_strict(&self.0)
    }

    /// Reads the JSON in the text of an answer, also from a fenced block, and checks it. Returns the JSON as it was written,
    /// or the fault for the model.
    pub fn read<'t>(&self, text: &'t str) -> Result<&'t str, String> {
        let (json, value) = read::json(text)?;
        self.check(&value)?;
        Ok(json)
    }

    /// Checks a value. The fault names the place in the value.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        check::Check { root: &self.0, left: check::MAX_STEPS.into() }.value(&self.0, value, &Place::root(), 0)
    }

    /// Returns the request for such an answer in words, for a service that does not take the schema itself.
    pub fn instruction(&self) -> String {
        format!(
            "[Answer with one JSON value and nothing else: no words around it, no code fence. It must fit this JSON \
             Schema:\n{}]",
            self.0
        )
    }
}

impl TryFrom<Value> for AnswerSchema {
    type Error = BadSchema;

    fn try_from(schema: Value) -> Result<Self, BadSchema> {
        Self::parse(schema)
    }
}

impl From<AnswerSchema> for Value {
    fn from(schema: AnswerSchema) -> Self {
        schema.0
    }
}

/// Looks for faults in a schema.
struct Examination<'s> {
    root: &'s Value,
}

impl Examination<'_> {
    fn schema(&self, schema: &Value, place: &Place, depth: usize) -> Result<(), BadSchema> {
        if depth > MAX_DEPTH {
            return Err(BadSchema(format!("{place} is nested more than {MAX_DEPTH} levels deep")));
        }
        let fields = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(fields) => fields,
            other => return Err(fault(place, &format!("must be a schema, not {}", check::kind(other)))),
        };
        for (keyword, value) in fields {
            let here = place.at(keyword);
            self.keyword(keyword, value, &here)?;
            self.inner(keyword, value, &here, depth)?;
        }
        Ok(())
    }

    /// Checks the value of a keyword that holds no schemas.
    fn keyword(&self, keyword: &str, value: &Value, here: &Place) -> Result<(), BadSchema> {
        let is_names =
            |value: &Value| value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
        let expected = match keyword {
            word if UNCHECKED.contains(&word) => {
                return Err(BadSchema(format!("{here} uses `{word}`, which is not supported here")));
            }
            "type" => return types(value, here),
            "$ref" => return self.reference(value, here),
            "pattern" => return pattern(value, here),
            "enum" => ("a list with at least one value", value.as_array().is_some_and(|all| !all.is_empty())),
            "required" => ("a list of names", is_names(value)),
            "uniqueItems" => ("true or false", value.is_boolean()),
            "multipleOf" => ("a number above zero", value.as_f64().is_some_and(|number| number > 0.0)),
            word if SIZES.contains(&word) => ("a whole number that is not negative", value.is_u64()),
            word if NUMBERS.contains(&word) => ("a number", value.is_number()),
            _ => return Ok(()),
        };
        if expected.1 { Ok(()) } else { Err(fault(here, &format!("must be {}", expected.0))) }
    }

    /// Checks the schemas in the value of a keyword.
    fn inner(&self, keyword: &str, value: &Value, here: &Place, depth: usize) -> Result<(), BadSchema> {
        if SCHEMAS.contains(&keyword) {
            return self.schema(value, here, depth + 1);
        }
        if TABLES.contains(&keyword) {
            let Value::Object(table) = value else { return Err(fault(here, "must be an object of schemas")) };
            return table
                .iter()
                .try_for_each(|(name, schema)| self.schema(schema, &here.at(name), depth + 1));
        }
        if LISTS.contains(&keyword) {
            let list = value.as_array().filter(|list| !list.is_empty());
            let Some(list) = list else { return Err(fault(here, "must be a list of schemas")) };
            let mut schemas = list.iter().enumerate();
            return schemas.try_for_each(|(index, schema)| self.schema(schema, &here.at(index), depth + 1));
        }
        Ok(())
    }

    fn reference(&self, value: &Value, here: &Place) -> Result<(), BadSchema> {
        let Some(target) = value.as_str() else { return Err(fault(here, "must be a text")) };
        match resolve(self.root, target) {
            Some(_) => Ok(()),
            None if target.starts_with('#') => {
                Err(BadSchema(format!("{here} points to {target:?}, which the schema does not have")))
            }
            None => Err(BadSchema(format!(
                "{here} points to {target:?}; only references within the schema, such as `#/$defs/item`, are supported"
            ))),
        }
    }
}

fn pattern(value: &Value, here: &Place) -> Result<(), BadSchema> {
    let Some(pattern) = value.as_str() else { return Err(fault(here, "must be a text")) };
    match Regex::new(pattern) {
        Ok(_) => Ok(()),
        Err(error) => Err(fault(here, &format!("is not a pattern that can be checked here: {error}"))),
    }
}

fn types(value: &Value, here: &Place) -> Result<(), BadSchema> {
    let is_type = |word: &Value| word.as_str().is_some_and(|word| TYPES.contains(&word));
    let is_right = match value {
        Value::Array(words) => !words.is_empty() && words.iter().all(is_type),
        word => is_type(word),
    };
    match is_right {
        true => Ok(()),
        false => Err(fault(here, &format!("must be one of {}, or a list of them", TYPES.join(", ")))),
    }
}

fn fault(place: &Place, what: &str) -> BadSchema {
    BadSchema(format!("{place} {what}"))
}

fn is_strict(schema: &Value) -> bool {
    let Value::Object(fields) = schema else { return true };
    let is_object =
        fields.get("type").is_some_and(|kind| kind == "object") || fields.contains_key("properties");
    let nested = fields.iter().flat_map(|(keyword, value)| match value {
        Value::Object(table) if TABLES.contains(&keyword.as_str()) => table.values().collect(),
        Value::Array(list) if LISTS.contains(&keyword.as_str()) => list.iter().collect(),
        value if SCHEMAS.contains(&keyword.as_str()) => vec![value],
        _ => Vec::new(),
    });
    (!is_object || lists_all(fields)) && nested.into_iter().all(is_strict)
}

fn lists_all(fields: &Map<String, Value>) -> bool {
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
    let mut names = fields.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    fields.get("additionalProperties") == Some(&Value::Bool(false)) && names.all(is_required)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_that_refer_to_each_other_end_with_a_fault() {
        let again = json!({"$ref": "#/$defs/a"});
        let schema = json!({"$defs": {"a": {"oneOf": [again, again]}}, "$ref": "#/$defs/a"});
        let schema = AnswerSchema::parse(schema).unwrap();
        assert!(schema.check(&json!(1)).is_err());
    }

    #[test]
    fn faulty_schemas_are_refused_with_their_place() {
        let check = |schema: Value, expected: &str| {
            let refused = AnswerSchema::parse(schema).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        };
        check(json!([]), "is an object");
        check(json!({}), "is empty");
        check(json!({"type": "objekt"}), "`/type` must be one of object");
        check(json!({"type": []}), "`/type` must be one of");
        check(json!({"properties": {"a": {"type": 3}}}), "`/properties/a/type` must be one of");
        check(json!({"properties": []}), "`/properties` must be an object of schemas");
        check(json!({"items": 3}), "`/items` must be a schema, not a number");
        check(json!({"anyOf": []}), "`/anyOf` must be a list of schemas");
        check(json!({"required": "a"}), "`/required` must be a list of names");
        check(json!({"enum": []}), "`/enum` must be a list");
        check(json!({"maxItems": -1}), "`/maxItems` must be a whole number");
        check(json!({"multipleOf": 0}), "`/multipleOf` must be a number above zero");
        check(json!({"$ref": "#/$defs/none"}), "which the schema does not have");
        check(json!({"$ref": "https://example.org/schema"}), "only references within the schema");
        check(json!({"patternProperties": {}}), "uses `patternProperties`, which is not supported");
        check(json!({"pattern": "(?=a)"}), "`/pattern` is not a pattern that can be checked here");
        check(json!({"title": "x".repeat(MAX_BYTES)}), "larger than 64 KiB");
        let deep = (0..40).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
        check(deep, "levels deep");
        let unread = AnswerSchema::from_json("{\"type\": ").unwrap_err().to_string();
        assert!(unread.starts_with("it is not JSON: ") && unread.contains("line 1"), "{unread}");
    }

    #[test]
    fn a_property_may_have_the_name_of_a_keyword() {
        let schema =
            json!({"type": "object", "properties": {"if": {"type": "string"}, "type": {"type": "number"}}});
        assert!(AnswerSchema::parse(schema).is_ok());
    }

    #[test]
    fn schemas_survive_storage_and_faulty_ones_are_not_read() {
        let schema = AnswerSchema::parse(json!({"type": "object"})).unwrap();
        let stored = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<AnswerSchema>(&stored).unwrap(), schema);
        assert!(serde_json::from_str::<AnswerSchema>(r#"{"type": "objekt"}"#).is_err());
    }

    #[test]
    fn strict_schemas_list_all_properties_and_allow_no_others() {
        let check = |schema: Value, expected: bool| {
            assert_eq!(AnswerSchema::parse(schema.clone()).unwrap().is_strict(), expected, "{schema}");
        };
        let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let mut closed = inner.clone();
        closed["additionalProperties"] = false.into();
        check(closed.clone(), true);
        check(json!({"type": "array", "items": closed}), true);
        check(json!({"type": "string"}), true);
        check(inner.clone(), false);
        check(json!({"type": "array", "items": inner}), false);
        closed["required"] = json!([]);
        check(closed, false);
    }
}
