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

/// Writes an interface for each schema of the document.
fn declarations() -> String {
    let document = build(ROUTES.iter().map(Route::described));
    let mut text = HEAD.to_owned();
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let mut schemas: Vec<_> = schemas.filter(|(name, _)| *name != "Object").collect();
    schemas.sort_by_key(|(name, _)| *name);
    for (name, schema) in schemas {
        let _ = writeln!(text, "\nexport interface {name} {{");
        let required = |field: &String| schema["required"].as_array().unwrap().contains(&json!(field));
        for (field, form) in schema["properties"].as_object().into_iter().flatten() {
            let mark = if required(field) { "" } else { "?" };
            let _ = writeln!(text, "  {field}{mark}: {};", type_of(form));
        }
        text.push_str("}\n");
    }
    text
}

/// Returns the TypeScript type of a schema in the forms that `schema_of` writes.
fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return if name == "Object" { "Record<string, unknown>".into() } else { name.into() };
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(type_of).collect::<Vec<_>>().join(" | ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let plain = |kind: &str| match kind {
        "integer" => "number".to_owned(),
        "object" => "Record<string, unknown>".to_owned(),
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
