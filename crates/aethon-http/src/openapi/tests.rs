//! The document is complete, and real responses match it.

use super::*;
use crate::options::Options;
use crate::routes::{ROUTES, Route};
use crate::service::tests::TestApp;

/// Checks a value against a schema in the forms that this module writes; the error says where it does not match.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#'));
        return check(document, target.unwrap_or_else(|| panic!("{place}: no {reference}")), value, place);
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let tried = choices.iter().map(|choice| check(document, choice, value, place));
        return tried.reduce(|one, other| one.or(other)).expect("a choice");
    }
    let fail = |why: &str| Err(format!("{place}: {value} {why} in {schema}"));
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value))
        || schema.get("const").is_some_and(|word| word != value)
    {
        return fail("is no such word");
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
    let fits = match &schema["type"] {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
        _ => true,
    };
    if !fits {
        return fail("is of another type");
    }
    if let Some(text) = value.as_str() {
        if schema["format"] == "date-time" && text.parse::<jiff::Timestamp>().is_err() {
            return fail("is no time");
        }
        let length = text.chars().count() as u64;
        if schema["minLength"].as_u64().is_some_and(|least| length < least)
            || schema["maxLength"].as_u64().is_some_and(|most| length > most)
        {
            return fail("is too short or too long");
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return fail(&format!("lacks {name}"));
        }
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get(name) {
            check(document, schema, inner, &format!("{place}.{name}"))?;
        }
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            check(document, items, item, &format!("{place}[{number}]"))?;
        }
    }
    Ok(())
}

fn rows() -> impl Iterator<Item = Row> {
    ROUTES.iter().map(Route::described)
}

#[test]
fn every_row_of_the_table_is_documented() {
    let document = document("1", "", rows());
    let tags: Vec<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    for route in rows() {
        let (described, row) = (route.described, format!("{} {}", route.method, route.pattern));
        assert!(described.summary.ends_with('.'), "{row} has no summary");
        assert!(tags.contains(&described.tag), "{row}: the tag {} is not told", described.tag);
        assert!(described.answers().next().is_some(), "{row} has no answers");
        assert_eq!(described.body.is_some(), route.takes_json, "{row}: a body is told where one is taken");
        let mut statuses: Vec<u16> = described.answers().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        statuses.dedup();
        assert_eq!(statuses.len(), described.answers().count(), "{row} tells a status twice");
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
fn a_schema_has_a_name_of_its_own_and_says_what_it_is() {
    let mut writer = Writer {
        answers: Schemas::of_answers(),
        bodies: Schemas::of_bodies(),
        requests: Schemas::of_requests(),
    };
    for route in rows() {
        writer.operation(&route);
    }
    let (bodies, answers) = (writer.bodies.components(), writer.answers.components());
    for (name, schema) in bodies.iter().chain(&answers) {
        // Two types of one name get numbers.
        assert!(!name.ends_with(|end: char| end.is_ascii_digit()), "{name} stands for several types");
        assert!(schema["description"].is_string(), "{name} has no doc comment");
    }
    for (name, schema) in &bodies {
        assert!(
            answers.get(name).is_none_or(|other| other == schema),
            "{name} is sent and answered differently"
        );
    }
}

#[test]
fn what_a_client_sends_is_constrained() {
    let document = document("1", "", rows());
    let parameters = |path: &str, method: &str| {
        let listed = document["paths"][path][method]["parameters"].as_array().unwrap().clone();
        move |name: &str| listed.iter().find(|parameter| parameter["name"] == name).cloned().unwrap()
    };
    let sessions = parameters("/api/sessions", "get");
    assert_eq!(sessions("limit")["schema"]["maximum"], 500);
    assert_eq!(sessions("limit")["schema"]["default"], 50);
    let recordings = parameters("/api/sessions/recordings", "get");
    assert_eq!(
        (&recordings("cursor")["in"], &recordings("limit")["required"]),
        (&json!("query"), &json!(false))
    );
    let events = parameters("/api/sessions/recordings/{name}/events", "get");
    let mut layers = events("layer")["schema"]["enum"].as_array().unwrap().clone();
    layers.sort_by_key(Value::to_string);
    assert_eq!(layers, [json!("agent"), json!("sys"), json!("tool")]);
    let between = parameters("/api/sessions/recordings/{name}/diff", "get");
    assert_eq!(
        (&between("from")["required"], &between("from")["schema"]["type"]),
        (&json!(true), &json!("integer"))
    );
    let hook = parameters("/webhook/{channel}", "post");
    for header in ["X-Aethon-Signature", "X-Aethon-Timestamp", "Idempotency-Key"] {
        assert_eq!((&hook(header)["in"], &hook(header)["required"]), (&json!("header"), &json!(false)));
    }
    let export = &document["paths"]["/api/sessions/{id}/export"]["get"];
    assert!(export["responses"]["200"]["content"].get("text/markdown").is_some(), "{export}");
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["NewJob"]["properties"]["missed"]["enum"], json!(["skip", "run_once", null]));
    assert_eq!(schemas["NewMemory"]["properties"]["content"]["maxLength"], 8_000);
    assert_eq!(schemas["NewMemory"]["required"], json!(["content"]));
    let refused = &document["paths"]["/api/sessions"]["get"]["responses"];
    assert!(refused["429"]["headers"].get("Retry-After").is_some(), "{refused}");
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
            check(&document, &content[&media]["schema"], &seen.json(), &target).unwrap();
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
