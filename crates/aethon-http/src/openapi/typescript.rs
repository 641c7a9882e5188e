//! The types of the pages' REST answers, written from the document: a page that reads a field which no answer has fails
//! its type check. This module is compiled for tests only; the file that it keeps up to date is never served.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::*;
use crate::routes::{ROUTES, Route};

const HEAD: &str = "// The answers and bodies of the REST interface, generated from its OpenAPI document; do not edit.\n\
    // To renew it: cargo test -p aethon-http -- --ignored write_the_types_of_the_pages\n";

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web/assets/js/wire/api.d.ts")
}

/// Writes a type for each schema of the document.
fn declarations() -> String {
    let document = build(ROUTES.iter().map(Route::described));
    let mut text = HEAD.to_owned();
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let mut schemas: Vec<_> = schemas.collect();
    schemas.sort_by_key(|(name, _)| *name);
    for (name, schema) in schemas {
        // Pages read the pieces of a message as one type, whichever piece it is.
        let merged = merged(schema);
        let schema = merged.as_ref().unwrap_or(schema);
        if schema["properties"].is_null() {
            let _ = writeln!(text, "\nexport type {name} = {};", type_of(schema));
            continue;
        }
        let _ = writeln!(text, "\nexport interface {name} {{");
        let required = |field: &String| {
            schema["required"].as_array().is_some_and(|required| required.contains(&json!(field)))
        };
        for (field, form) in schema["properties"].as_object().into_iter().flatten() {
            let mark = if required(field) { "" } else { "?" };
            let _ = writeln!(text, "  {field}{mark}: {};", type_of(form));
        }
        text.push_str("}\n");
    }
    text
}

/// Merges objects of which a value is one: all of their fields, required if they are in each of them.
fn merged(schema: &Value) -> Option<Value> {
    let choices = schema["oneOf"].as_array()?;
    let (mut properties, mut words) = (Map::new(), Vec::new());
    for choice in choices {
        for (name, field) in choice["properties"].as_object()? {
            match field.get("const") {
                Some(word) => words.push(word.clone()),
                None => drop(properties.insert(name.clone(), field.clone())),
            }
        }
    }
    properties.insert("type".to_owned(), json!({ "enum": words }));
    let in_all = |name: &&String| {
        choices
            .iter()
            .all(|choice| choice["required"].as_array().is_some_and(|names| names.contains(&json!(name))))
    };
    let required: Vec<&String> = properties.keys().filter(in_all).collect();
    Some(json!({ "properties": properties, "required": required }))
}

/// Returns the TypeScript type of a schema in the forms that `schema` writes.
fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return choices.iter().map(type_of).collect::<Vec<_>>().join(" | ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let plain = |kind: &str| match kind {
        "integer" => "number".to_owned(),
        "object" => match schema.get("additionalProperties").map(type_of) {
            Some(inner) => format!("Record<string, {inner}>"),
            None => "Record<string, unknown>".to_owned(),
        },
        "array" => match type_of(&schema["items"]) {
            item if item.contains(' ') => format!("Array<{item}>"),
            item => format!("{item}[]"),
        },
        kind => kind.to_owned(),
    };
    match &schema["type"] {
        Value::String(kind) => plain(kind),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).map(plain).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".into(),
    }
}

#[test]
fn the_types_of_the_pages_match_the_document() {
    let stored = std::fs::read_to_string(file()).unwrap_or_default();
    assert!(
        stored == declarations(),
        "{} is out of date; its second line says how to renew it",
        file().display()
    );
}

#[test]
#[ignore = "writes the file that the test above compares"]
fn write_the_types_of_the_pages() {
    std::fs::write(file(), declarations()).unwrap();
}
