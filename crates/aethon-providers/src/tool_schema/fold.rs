//! Makes one object of a schema with combinations at its top, which most services refuse there.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Maximum length of a remark for the model.
const MAX_REMARK: usize = 400;
/// How deep combinations may lie in each other.
const MAX_DEPTH: usize = 8;

/// A schema as one object, and what it no longer says.
pub(super) struct Folded {
    pub(super) schema: Map<String, Value>,
    /// The remarks for the description of the tool.
    pub(super) remarks: Vec<String>,
}

/// Folds a schema without references.
pub(super) fn fold(schema: &Value) -> Folded {
    let mut remarks = Vec::new();
    let mut schema = flat(schema, MAX_DEPTH, &mut remarks);
    schema.insert("type".into(), "object".into());
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".into(), json!({}));
    }
    for keyword in ["enum", "const", "not", "if", "then", "else"] {
        let Some(value) = schema.remove(keyword) else { continue };
        if matches!(keyword, "enum" | "const" | "not") {
            remarks.push(remark(keyword, &value));
        }
    }
    Folded { schema, remarks }
}

fn remark(keyword: &str, value: &Value) -> String {
    let text: String = value.to_string().chars().take(MAX_REMARK).collect();
    match keyword {
        "not" => format!("The arguments must not fit: {text}"),
        _ => format!("The arguments must be one of: {text}"),
    }
}

/// Returns an object with the properties of a schema and of all its combinations.
fn flat(schema: &Value, depth: usize, remarks: &mut Vec<String>) -> Map<String, Value> {
    let Value::Object(fields) = schema else { return Map::new() };
    let mut own = fields.clone();
    let combinations = ["allOf", "anyOf", "oneOf"].map(|keyword| (keyword, own.remove(keyword)));
    let Some(deeper) = depth.checked_sub(1) else { return own };
    for (keyword, parts) in combinations {
        let Some(Value::Array(parts)) = parts else { continue };
        let parts: Vec<Map<String, Value>> = parts.iter().map(|part| flat(part, deeper, remarks)).collect();
        if parts.is_empty() {
            continue;
        }
        let demands: Vec<BTreeSet<String>> = parts.iter().map(required).collect();
        let common: BTreeSet<String> = match keyword {
            "allOf" => demands.iter().flatten().cloned().collect(),
            _ => {
                demands.iter().skip(1).fold(demands.first().cloned().unwrap_or_default(), |common, other| {
                    common.intersection(other).cloned().collect()
                })
            }
        };
        let all: BTreeSet<String> = required(&own).union(&common).cloned().collect();
        if keyword != "allOf" {
            remarks.extend(alternatives(&parts, &demands, &all));
        }
        for part in parts {
            take_in(&mut own, part);
        }
        own.insert("required".into(), all.into_iter().collect());
    }
    own
}

fn required(schema: &Map<String, Value>) -> BTreeSet<String> {
    match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(name)) => [name.clone()].into(),
        _ => BTreeSet::new(),
    }
}

/// Says what the alternatives are, if they differ in what they require or in what they have.
fn alternatives(
    parts: &[Map<String, Value>],
    demands: &[BTreeSet<String>],
    common: &BTreeSet<String>,
) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for (part, demanded) in parts.iter().zip(demands) {
        let mut names: Vec<&str> = demanded.difference(common).map(String::as_str).collect();
        if names.is_empty() {
            let own = part.get("properties").and_then(Value::as_object);
            names.extend(
                own.into_iter()
                    .flat_map(Map::keys)
                    .map(String::as_str)
                    .filter(|name| !common.contains(*name)),
            );
        }
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let text = if names.is_empty() { "nothing else".to_owned() } else { names.join(" with ") };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let text: String = format!("Give one of: {}.", said.join("; ")).chars().take(MAX_REMARK).collect();
    (said.len() > 1).then_some(text)
}

/// Adds to a schema what a part of it says. What the schema says itself stands.
fn take_in(own: &mut Map<String, Value>, part: Map<String, Value>) {
    for (keyword, value) in part {
        match (keyword.as_str(), value) {
            ("required" | "type", _) => {}
            ("properties", Value::Object(more)) => {
                if !own.get("properties").is_some_and(Value::is_object) {
                    own.insert("properties".into(), json!({}));
                }
                let Some(Value::Object(properties)) = own.get_mut("properties") else { continue };
                for (name, schema) in more {
                    add_property(properties, name, schema);
                }
            }
            // One alternative that is closed would close the others, too.
            ("additionalProperties" | "unevaluatedProperties" | "title" | "description", _) => {}
            (_, value) => {
                own.entry(keyword).or_insert(value);
            }
        }
    }
}

/// Adds a property. One that two parts describe differently takes what either does.
fn add_property(properties: &mut Map<String, Value>, name: String, schema: Value) {
    match properties.get_mut(&name) {
        None => {
            properties.insert(name, schema);
        }
        Some(known) if *known == schema => {}
        Some(Value::Object(known)) if known.len() == 1 && known.contains_key("anyOf") => {
            if let Some(Value::Array(parts)) = known.get_mut("anyOf")
                && !parts.contains(&schema)
                && parts.len() < 16
            {
                parts.push(schema);
            }
        }
        Some(known) => *known = json!({ "anyOf": [known.clone(), schema] }),
    }
}
