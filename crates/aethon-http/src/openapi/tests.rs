//! The document is complete, and real responses match it.

use super::*;
use crate::options::Options;
use crate::routes::{ROUTES, Route};
use crate::service::tests::TestApp;

/// Checks a value against a schema in the forms that this module writes, and reports where it does not match.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#'));
        return check(document, target.unwrap_or_else(|| panic!("{place}: no {reference}")), value, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return if !value.is_null() {
            check(document, &choices[0], value, place)
        };
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{place}: {value} is none of {words:?}");
    }
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("{place}: type {other}"),
    };
    match &schema["type"] {
        Value::String(kind) => assert!(is(kind), "{place}: {value} is no {kind}"),
        Value::Array(kinds) => {
            assert!(
                kinds.iter().any(|kind| is(kind.as_str().unwrap())),
                "{place}: {value} is none of {kinds:?}"
            );
        }
        _ => {}
    }
    if schema["format"] == "date-time" && value.is_string() {
        value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap_or_else(|_| panic!("{place}: {value}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        assert!(value.get(name).is_some(), "{place}: {name} is missing in {value}");
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get(name) {
            check(document, schema, inner, &format!("{place}.{name}"));
        }
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            check(document, items, item, &format!("{place}[{number}]"));
        }
    }
}

#[test]
fn every_row_of_the_table_is_documented() {
    let rows = || ROUTES.iter().map(Route::described);
    let document = document("1", "", rows());
    for route in rows() {
        let line = read(route.description);
        let row = format!("{} {}", route.method, route.pattern);
        assert!(
            line[1].as_str().is_some_and(|summary| summary.ends_with('.')),
            "{row} has no summary in its second line"
        );
        assert!(line[2].as_object().is_some_and(|answers| !answers.is_empty()), "{row} has no answers");
        assert_eq!(!line[4].is_null(), route.takes_json, "{row}: a body is told where one is taken");
    }
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "there is no schema {name}");
    }
    let mut ids: Vec<String> = rows().map(|route| id(&route)).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), ROUTES.len(), "two operations have the same id");
}

#[test]
fn a_type_is_spelled_out_once() {
    let mut known = shared();
    for route in ROUTES.iter().map(Route::described) {
        let mut own = Map::new();
        define_row(&read(route.description), &mut own);
        for (name, schema) in own {
            assert!(
                known.insert(name.clone(), schema).is_none(),
                "{}: {name} is there already",
                route.pattern
            );
        }
    }
}

#[test]
fn a_row_brings_the_types_that_it_spells_out() {
    let description = r#"["Service", "Times.", {"200": {"Clocks": {"clocks": [{"Clock": {"now": "time", "zone?": {"Zone?": {"name": "string"}}}}]}}}, {}, {"Wanted": {"zone": "string"}}]"#;
    let row = Row {
        method: &Method::POST,
        pattern: "/api/clocks",
        is_gated: false,
        takes_json: true,
        takes_file: false,
        description,
    };
    let document = build([row].into_iter());
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Clocks"]["properties"]["clocks"]["items"]["$ref"], "#/components/schemas/Clock");
    assert_eq!(schemas["Clock"]["properties"]["now"]["format"], "date-time");
    assert_eq!(schemas["Clock"]["required"], json!(["now"]));
    assert_eq!(schemas["Clock"]["properties"]["zone"]["anyOf"][1]["type"], "null");
    assert_eq!(schemas["Zone"]["required"], json!(["name"]));
    let operation = &document["paths"]["/api/clocks"]["post"];
    let of = |place: &Value| place["content"]["application/json"]["schema"]["$ref"].clone();
    assert_eq!(of(&operation["responses"]["200"]), "#/components/schemas/Clocks");
    assert_eq!(of(&operation["requestBody"]), "#/components/schemas/Wanted");
}

#[tokio::test]
async fn real_answers_are_what_the_document_says() {
    let app = TestApp::new(Options::default());
    let document = app.get("/openapi.json", &[]).await.json();
    assert_eq!(document["openapi"], "3.1.0");
    for route in ROUTES.iter().filter(|route| route.method == http::Method::GET) {
        let target =
            route.pattern.replace("{id}", "webchat:default").replace("{name}", "x").replace("{n}", "1");
        if target.contains('*') || target.starts_with("/ws") {
            continue;
        }
        let seen = app.get(&target, &[]).await;
        let status = seen.status.to_string();
        let path = route.pattern.replace('*', "{path}");
        let responses = &document["paths"][&path]["get"]["responses"];
        let description = responses.get(&status).unwrap_or(&responses["default"]);
        assert!(seen.status < 500, "{target}: {status}");
        let media = seen.header("content-type").split(';').next().unwrap().to_owned();
        let content = &description["content"];
        assert!(
            content.is_null() || content.get(&media).is_some() || content.get("*/*").is_some(),
            "{target}: {status} as {media} is not told"
        );
        if media.ends_with("json") && content.get(&media).is_some() {
            check(&document, &content[&media]["schema"], &seen.json(), &target);
        }
    }
}

#[tokio::test]
async fn without_the_dashboard_there_is_no_document() {
    let app = TestApp::new(Options { dashboard_enabled: false, ..Options::default() });
    assert_eq!(app.get("/openapi.json", &[]).await.status, 404);
    assert_eq!(app.get("/docs", &[]).await.status, 404);
    assert_eq!(app.get("/docs", &[]).await.status, 404);
}
