//! The types of the pages' REST answers and of their frames, written from the document and from the types of the frames: a
//! page that reads a field which no answer has fails its type check. This module is compiled for tests only; the files that
//! it keeps up to date are never served.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::*;
use crate::routes::{ROUTES, Route};
use crate::ws::frame_forms;

const RENEW: &str = "// To renew it: cargo test -p aethon-http -- --ignored write_the_types_of_the_pages\n";
const API: &str =
    "// The answers and bodies of the REST interface, generated from its OpenAPI document; do not edit.\n";
const FRAMES: &str = "// The frames of the sockets, generated from the server's types; do not edit.\n";

/// The files, and what stands in them.
fn files() -> [(PathBuf, String); 2] {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web/assets/js/wire");
    let document = build(ROUTES.iter().map(Route::described));
    let components = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
    let frames = frames(&components);
    [
        (folder.join("api.d.ts"), format!("{API}{RENEW}{}", declarations(&components))),
        (folder.join("frames.d.ts"), format!("{FRAMES}{RENEW}{frames}")),
    ]
}

/// Writes a type for each schema.
fn declarations(schemas: &Map<String, Value>) -> String {
    let mut text = String::new();
    let mut schemas: Vec<_> = schemas.iter().collect();
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
        for field in fields_of(schema) {
            let _ = writeln!(text, "  {field};");
        }
        text.push_str("}\n");
    }
    text
}

/// Writes a type for each kind of frame, a union with a line for each choice. Types of the API are imported.
fn frames(api: &Map<String, Value>) -> String {
    let (answers, requests) = frame_forms();
    let (mut sent, mut received) = (Schemas::of_answers(), Schemas::of_bodies());
    answers.iter().for_each(|form| drop(sent.schema(*form)));
    requests.iter().for_each(|form| drop(received.schema(*form)));
    let mut components = sent.components();
    components.extend(received.components());
    let (mut text, mut imported) = (String::new(), Vec::new());
    for (name, schema) in &components {
        if let Some(known) = api.get(name) {
            assert_eq!(known, schema, "the API has another type of the name {name}");
            imported.push(name.as_str());
            continue;
        }
        let choices = |schema: &Value| {
            let choices = schema["oneOf"].as_array().into_iter().flatten().map(type_of);
            choices.fold(String::new(), |text, choice| text + "\n  | " + &choice)
        };
        let _ = match (choices(schema), fields_of(schema)) {
            (choices, _) if choices.is_empty() => {
                writeln!(text, "\nexport type {name} = {};", type_of(schema))
            }
            (choices, fields) if fields.is_empty() => writeln!(text, "\nexport type {name} ={choices};"),
            (choices, fields) => {
                writeln!(text, "\nexport type {name} = {{ {} }} & ({choices}\n);", fields.join("; "))
            }
        };
    }
    let named: BTreeSet<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
    imported.retain(|name| named.contains(name));
    let imported = imported.join(", ");
    format!("\nimport type {{ {imported} }} from \"./api.js\";\n{text}")
}

/// Returns the fields of an object as TypeScript, the one that tells its kind first.
fn fields_of(schema: &Value) -> Vec<String> {
    let required =
        |field: &String| schema["required"].as_array().is_some_and(|names| names.contains(&json!(field)));
    let mut fields: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(_, form)| form.get("const").is_none());
    let line = |(field, form): (&String, &Value)| {
        let mark = if required(field) { "" } else { "?" };
        format!("{field}{mark}: {}", type_of(form))
    };
    fields.into_iter().map(line).collect()
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
    // An object of a kind, whose other fields another schema has.
    let fields = fields_of(schema);
    if !fields.is_empty() {
        let own = format!("{{ {} }}", fields.join("; "));
        let others = schema["$ref"].is_string().then(|| type_of(&json!({ "$ref": schema["$ref"] })));
        let choices = schema["oneOf"]
            .is_array()
            .then(|| format!("({})", type_of(&json!({ "oneOf": schema["oneOf"] }))));
        return std::iter::once(own).chain(others).chain(choices).collect::<Vec<_>>().join(" & ");
    }
    if let Some(word) = schema.get("const") {
        return word.to_string();
    }
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
    for (file, expected) in files() {
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            stored == expected,
            "{} is out of date; its second line says how to renew it",
            file.display()
        );
    }
}

#[test]
#[ignore = "writes the files that the test above compares"]
fn write_the_types_of_the_pages() {
    for (file, text) in files() {
        std::fs::write(file, text).unwrap();
    }
}
