//! What services refuse of a tool, by their documentation. Written apart from the code that fits tools, so that the two do
//! not share a mistake.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A service, as far as its rules for tools differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Bedrock,
    Mistral,
    Ollama,
}

pub(super) const ALL: [Dialect; 7] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
    Dialect::Bedrock,
    Dialect::Mistral,
    Dialect::Ollama,
];

/// The keywords of the subset that Gemini documents.
const GEMINI: [&str; 19] = [
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
    "prefixItems",
    "$id",
    "nullable",
];
/// The types that JSON Schema has.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Returns why a service refuses this tool.
pub(super) fn refusal(dialect: Dialect, name: &str, description: &str, schema: &Value) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        return Err(format!("name {name:?}"));
    }
    if matches!(dialect, Dialect::Gemini | Dialect::Bedrock)
        && !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    {
        return Err(format!("name {name:?} begins with neither a letter nor an underscore"));
    }
    if description.is_empty() || description.chars().count() > 1024 {
        return Err(format!("a description of {} characters", description.chars().count()));
    }
    let Value::Object(top) = schema else { return Err("schema is no object".into()) };
    if top.get("type") != Some(&Value::String("object".into())) {
        return Err(format!("top-level type {:?}", top.get("type")));
    }
    for keyword in ["oneOf", "anyOf", "allOf", "enum", "not", "const", "if"] {
        if top.contains_key(keyword) {
            return Err(format!("{keyword} at the top level"));
        }
    }
    if !top.get("properties").is_some_and(Value::is_object) {
        return Err("object schema missing properties".into());
    }
    if dialect == Dialect::Bedrock
        && let Some(extra) =
            top.keys().find(|key| !["type", "properties", "required"].contains(&key.as_str()))
    {
        return Err(format!("top-level {extra}"));
    }
    check(dialect, top, 0)
}

fn check(dialect: Dialect, schema: &Map<String, Value>, depth: usize) -> Result<(), String> {
    if depth > 32 {
        return Err("too deep".into());
    }
    for (keyword, value) in schema {
        if dialect == Dialect::Gemini && !GEMINI.contains(&keyword.as_str()) {
            return Err(format!("Unknown name {keyword:?}"));
        }
        keyword_is_valid(keyword, value).map_err(|why| format!("{keyword}: {why}"))?;
        for below in schemas_below(keyword, value) {
            let Value::Object(below) = below else { continue };
            check(dialect, below, depth + 1)?;
        }
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if kinds.contains(&"array") && !schema.contains_key("items") {
        return Err("array schema missing items".into());
    }
    let own: BTreeSet<&str> = keys(schema.get("properties"));
    for name in &own {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(format!("property {name:?}"));
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !name.as_str().is_some_and(|name| own.contains(name)) {
            return Err(format!("required names {name}"));
        }
    }
    if dialect == Dialect::Gemini {
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        if listed.into_iter().any(|value| !value.is_string() && !value.is_number()) {
            return Err("enum of something else than strings and numbers".into());
        }
        if kinds.iter().filter(|kind| **kind != "null").count() > 1 {
            return Err("several types".into());
        }
    }
    Ok(())
}

fn keys(value: Option<&Value>) -> BTreeSet<&str> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

fn schemas_below<'v>(keyword: &str, value: &'v Value) -> Vec<&'v Value> {
    match (keyword, value) {
        ("properties" | "patternProperties", Value::Object(fields)) => fields.values().collect(),
        ("items" | "additionalProperties" | "not", value) => vec![value],
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(parts)) => parts.iter().collect(),
        _ => Vec::new(),
    }
}

fn keyword_is_valid(keyword: &str, value: &Value) -> Result<(), String> {
    let ok = match keyword {
        "$ref" | "$defs" | "definitions" | "$schema" | "dependencies" | "id" | "divisibleBy" => false,
        "type" => match value {
            Value::String(kind) => TYPES.contains(&kind.as_str()),
            Value::Array(kinds) => {
                !kinds.is_empty()
                    && kinds.iter().all(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind)))
            }
            _ => false,
        },
        "properties" | "patternProperties" => {
            value.as_object().is_some_and(|fields| fields.values().all(Value::is_object))
        }
        "items" => value.is_object(),
        "additionalProperties" => value.is_object() || value.is_boolean(),
        "anyOf" | "oneOf" | "allOf" => {
            value.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(Value::is_object))
        }
        "required" => value.as_array().is_some_and(|names| {
            let all: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
            all.len() == names.len()
        }),
        "enum" => value.as_array().is_some_and(|values| {
            let all: BTreeSet<String> = values.iter().map(Value::to_string).collect();
            !values.is_empty() && all.len() == values.len()
        }),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "title" | "description" | "format" | "pattern" => value.is_string(),
        "uniqueItems" => value.is_boolean(),
        "examples" => value.is_array(),
        "const" | "default" => true,
        _ => return Err("unknown".into()),
    };
    if ok { Ok(()) } else { Err(value.to_string()) }
}
