//! The OpenAPI 3.1 document, generated from the table of routes.
//!
//! A row provides its path, method, access and body type, and in one line what only people know: tag, summary,
//! responses, query parameters, body. A type used by one row only is spelled out there after its name: `{"Clock":
//! {"now": "time"}}`. Types shared by several rows have a line each in `schemas.json` beside this file. Both use a
//! short form described here; a test checks them against real responses.

use std::sync::OnceLock;

use http::Method;
use serde_json::{Map, Value, json};

/// A row of the table of routes, reduced to the columns that the document needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The method.
    pub(crate) method: &'static Method,
    /// Literal segments, `{name}` for one segment, a last `*` for the rest.
    pub(crate) pattern: &'static str,
    /// Whether a token is required.
    pub(crate) is_gated: bool,
    /// Whether it takes a JSON document.
    pub(crate) takes_json: bool,
    /// Whether it takes a file.
    pub(crate) takes_file: bool,
    /// The hand-written description: `[tag, summary, responses, query parameters, body]`. A parameter whose name begins
    /// with `header ` is a header.
    pub(crate) description: &'static str,
}

/// The document without its version.
static DOCUMENT: OnceLock<Value> = OnceLock::new();

/// Returns the document for this version, of a service below this path. The rows are the same on every call.
pub(crate) fn document(version: &str, server: &str, rows: impl Iterator<Item = Row>) -> Value {
    let mut document = DOCUMENT.get_or_init(|| build(rows)).clone();
    document["info"]["version"] = version.into();
    if !server.is_empty() {
        document["servers"] = json!([{ "url": server }]);
    }
    document
}

/// Parses text of this crate. The tests catch invalid JSON; at run time the document would merely lack that part.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn build(rows: impl Iterator<Item = Row>) -> Value {
    let mut paths = Map::new();
    let mut schemas = shared();
    let rows: Vec<Row> = rows.collect();
    let has_versions = |route: &Row| {
        let is_refused =
            |row: &&Row| row.pattern == route.pattern && !read(row.description)[2]["412"].is_null();
        rows.iter().any(|row| is_refused(&row))
    };
    for route in &rows {
        let path = route.pattern.replace('*', "{path}");
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        let line = read(route.description);
        let mut operation = operation(route, &line);
        if has_versions(route) {
            describe_versions(&mut operation);
        }
        operations[route.method.as_str().to_lowercase()] = operation;
        define_row(&line, &mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Aethon",
            "version": "",
            "description": "The HTTP interface of an Aethon assistant. Times are RFC 3339 in UTC, ids are strings, money is \
                USD. Errors are problem documents (RFC 9457) with a stable `code`.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "aethon_dash" },
                "query": { "type": "apiKey", "in": "query", "name": "token" },
            },
        },
    })
}

fn operation(route: &Row, line: &Value) -> Value {
    let (tag, summary) = (line[0].as_str().unwrap_or("Other"), line[1].as_str().unwrap_or_default());
    let mut operation = json!({
        "tags": [tag],
        "summary": summary,
        "operationId": id(route),
        "parameters": parameters(route, &line[3]),
        "responses": responses(route, &line[2]),
    });
    if route.takes_json {
        let schema = if line[4].is_null() { schema_of(&json!("Object")) } else { schema_of(&line[4]) };
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    if route.takes_file {
        let schema = json!({ "type": "string", "contentMediaType": "application/octet-stream" });
        operation["requestBody"] = json!({ "required": true, "content": { "*/*": { "schema": schema } } });
    }
    if route.is_gated {
        operation["security"] = json!([{ "bearer": [] }, { "cookie": [] }, { "query": [] }]);
    }
    operation
}

/// Adds the parts that all resources with versions share: answers carry the `ETag`, changes take `If-Match`.
fn describe_versions(operation: &mut Value) {
    let is_change = !operation["responses"]["412"].is_null();
    let responses = operation["responses"].as_object_mut().into_iter().flatten();
    for (_, response) in responses.filter(|(status, _)| ["200", "201", "412"].contains(&status.as_str())) {
        let description = "The version, for `If-Match`.";
        response["headers"] =
            json!({ "ETag": { "description": description, "schema": { "type": "string" } } });
    }
    if let Some(parameters) = operation["parameters"].as_array_mut().filter(|_| is_change) {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": false, "schema": { "type": "string" },
            "description": "The ETags that the change is meant for, or `*`. Without it the last writer wins.",
        }));
    }
}

/// Builds an operation id such as `get_api_sessions_id`.
fn id(route: &Row) -> String {
    let words = route.pattern.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    format!("{}_{}", route.method.as_str().to_lowercase(), words.join("_"))
}

fn parameters(route: &Row, query: &Value) -> Vec<Value> {
    let pattern = route.pattern.replace('*', "{path}");
    let names = pattern.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let path = names.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } })
    });
    let query = query.as_object().into_iter().flatten().map(|(name, form)| {
        let (place, name) = name.split_once(' ').unwrap_or(("query", name));
        json!({ "name": name, "in": place, "required": false, "schema": schema_of(form) })
    });
    path.chain(query).collect()
}

fn responses(route: &Row, description: &Value) -> Value {
    let mut responses = Map::new();
    for (status, form) in description.as_object().into_iter().flatten() {
        responses.insert(status.clone(), response(status, form));
    }
    let mut add = |status: &str| {
        responses.entry(status).or_insert_with(|| response(status, &json!("Problem")));
    };
    if route.is_gated {
        ["401", "429"].into_iter().for_each(&mut add);
    }
    if route.pattern.contains('{') {
        add("404");
    }
    if route.takes_json {
        ["400", "403", "413", "415", "422"].into_iter().for_each(&mut add);
    } else if route.pattern.starts_with("/api") {
        add("422");
    }
    add("default");
    Value::Object(responses)
}

fn response(status: &str, form: &Value) -> Value {
    let number = status.parse().ok().and_then(|status: u16| http::StatusCode::from_u16(status).ok());
    let words = number.and_then(|status| status.canonical_reason()).unwrap_or("What went wrong");
    let (media, schema) = match form.as_str() {
        Some("") => return json!({ "description": words }),
        Some("Problem" | "UnconfirmedProblem" | "ChangedProblem") => {
            ("application/problem+json", schema_of(form))
        }
        Some(media) if media.contains('/') => (media, json!({})),
        _ => ("application/json", schema_of(form)),
    };
    json!({ "description": words, "content": { media: { "schema": schema } } })
}

/// Returns the types that several rows share.
fn shared() -> Map<String, Value> {
    let short = read(include_str!("openapi/schemas.json"));
    let full = |(name, fields): (&String, &Value)| (name.clone(), object(fields));
    short.as_object().into_iter().flatten().map(full).collect()
}

/// Adds the types that a row spells out in its responses and its body.
fn define_row(line: &Value, schemas: &mut Map<String, Value>) {
    let answers = line[2].as_object().into_iter().flat_map(Map::values);
    answers.chain([&line[4]]).for_each(|form| define(form, schemas));
}

/// Adds the types that a short form spells out, including those of its fields.
fn define(form: &Value, schemas: &mut Map<String, Value>) {
    for (name, fields) in form.as_object().into_iter().flatten() {
        schemas.insert(name.trim_end_matches('?').to_owned(), object(fields));
        fields.as_object().into_iter().flat_map(Map::values).for_each(|field| define(field, schemas));
    }
    form.as_array().into_iter().flatten().for_each(|item| define(item, schemas));
}

/// Describes an object. A field whose name ends in a question mark is optional.
fn object(fields: &Value) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, form) in fields.as_object().into_iter().flatten() {
        let plain = name.trim_end_matches('?');
        if plain == name {
            required.push(plain);
        }
        properties.insert(plain.to_owned(), schema_of(form));
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Translates a short form: a plain type, `time`, a range such as `1-100`, words such as `on|off`, the name of a
/// type, alone or with its fields as `{NAME: {…}}`, or a list of one of these. A trailing question mark allows null.
fn schema_of(form: &Value) -> Value {
    if let Some((name, _)) = form.as_object().and_then(|named| named.iter().next()) {
        return schema_of(&json!(name));
    }
    if let Some(item) = form.get(0) {
        return json!({ "type": "array", "items": schema_of(item) });
    }
    let text = form.as_str().unwrap_or("any");
    let (word, may_be_null) = match text.strip_suffix('?') {
        Some(word) => (word, true),
        None => (text, false),
    };
    let named = |kind: &str| if may_be_null { json!([kind, "null"]) } else { json!(kind) };
    match word {
        "any" => json!({}),
        "time" => json!({ "type": named("string"), "format": "date-time" }),
        "string" | "integer" | "number" | "boolean" | "object" => json!({ "type": named(word) }),
        word if word.contains('|') => json!({ "enum": word.split('|').collect::<Vec<_>>() }),
        word => match word
            .split_once('-')
            .and_then(|(from, to)| Some((from.parse::<u32>().ok()?, to.parse::<u32>().ok()?)))
        {
            Some((from, to)) => json!({ "type": "integer", "minimum": from, "maximum": to }),
            None => {
                let reference = json!({ "$ref": format!("#/components/schemas/{word}") });
                if may_be_null { json!({ "anyOf": [reference, { "type": "null" }] }) } else { reference }
            }
        },
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod typescript;
