//! The OpenAPI 3.1 document, generated from the table of routes and from the types that it names.
//!
//! A row provides its path, method, access and body type. What else is known of it stands beside its handler
//! (`described`): tag, summary, answers, query, headers and body, each by its type. Schemas and descriptions come from the
//! types and their comments (`schema`); requests are read as the same types (`typed`). A test checks real responses.

mod described;
mod headers;
mod problems;

use std::sync::OnceLock;

use http::Method;
use serde_json::{Map, Value, json};

pub(crate) use self::described::{Content, Described, told};
pub(crate) use self::headers::{IfNoneMatch, Signed};
use crate::schema::{Form, Schemas, without_null};

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
    /// What it says about itself.
    pub(crate) described: Described,
}

/// The groups of operations, in the order of the document.
const TAGS: [(&str, &str); 17] = [
    ("Service", "The service itself: its state, its devices, its backups."),
    ("Pages", "The pages and their files."),
    ("Sockets", "WebSockets; docs/contract/sockets.md describes their frames."),
    ("Sessions", "Conversations, and what belongs to a message."),
    ("Configuration", "The configuration file, and the first model."),
    ("Approvals", "Questions before a tool runs, and what was decided."),
    ("Memory", "What the assistant remembers."),
    ("SOPs", "Written procedures, their runs, and saved prompts."),
    ("Scheduler", "Jobs that run at their time."),
    ("Work", "Work that takes many turns."),
    ("Agents", "Which agents work on what."),
    ("Channels", "Messengers, deliveries, and the people who may write."),
    ("Recordings", "Recordings of conversations."),
    ("Usage", "Tokens and cost."),
    ("Telemetry", "Measurements."),
    ("Logs", "The log."),
    ("Push", "Notifications of devices."),
];

/// Webhooks come last: other programs call them.
const WEBHOOKS: (&str, &str) =
    ("Webhooks", "Calls of other programs, each under a signature; docs/contract/http.md describes it.");

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

/// The schemas of the document while it is written.
struct Writer {
    answers: Schemas,
    bodies: Schemas,
    requests: Schemas,
}

fn build(rows: impl Iterator<Item = Row>) -> Value {
    let mut paths = Map::new();
    let rows: Vec<Row> = rows.collect();
    let has_versions =
        |route: &Row| rows.iter().any(|row| row.pattern == route.pattern && row.described.changes_versions());
    let mut writer = Writer {
        answers: Schemas::of_answers(),
        bodies: Schemas::of_bodies(),
        requests: Schemas::of_requests(),
    };
    for route in &rows {
        let path = route.pattern.replace('*', "{path}");
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        let mut operation = writer.operation(route);
        if has_versions(route) {
            describe_versions(&mut operation);
        }
        operations[route.method.as_str().to_lowercase()] = operation;
    }
    let mut schemas = writer.bodies.components();
    schemas.extend(writer.answers.components());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Aethon",
            "version": "",
            "description": "The HTTP interface of an Aethon assistant. Times are RFC 3339 in UTC, ids are strings, money is \
                USD. Errors are problem documents (RFC 9457) with a stable `code`. Every answer has an `X-Request-Id`, which \
                the log names.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": TAGS.iter().chain([&WEBHOOKS]).map(|(name, about)| json!({ "name": name, "description": about }))
            .collect::<Vec<_>>(),
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

impl Writer {
    fn operation(&mut self, route: &Row) -> Value {
        let described = &route.described;
        let mut operation = json!({
            "tags": [described.tag],
            "summary": described.summary,
            "description": self.description(route),
            "operationId": id(route),
            "parameters": self.parameters(route),
            "responses": self.responses(route),
        });
        if route.takes_json {
            let schema = described.body.map_or(json!({ "type": "object" }), |form| self.bodies.schema(form));
            operation["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        if route.takes_file {
            let schema = json!({ "type": "string", "contentMediaType": "application/octet-stream" });
            operation["requestBody"] =
                json!({ "required": true, "content": { "*/*": { "schema": schema } } });
        }
        if route.is_gated {
            operation["security"] = json!([{ "bearer": [] }, { "cookie": [] }, { "query": [] }]);
        }
        operation
    }

    /// Describes an operation by its summary, and by what the comments of its query and its body say.
    fn description(&mut self, route: &Row) -> String {
        let Described { summary, query, body, .. } = route.described;
        let comments = [query, body]
            .into_iter()
            .flatten()
            .filter_map(|form| self.requests.schema(form)["description"].as_str().map(str::to_owned));
        std::iter::once(summary.to_owned()).chain(comments).collect::<Vec<_>>().join("\n\n")
    }

    fn parameters(&mut self, route: &Row) -> Vec<Value> {
        let pattern = route.pattern.replace('*', "{path}");
        let names = pattern.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let mut parameters: Vec<Value> = names
            .map(|name| {
                json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } })
            })
            .collect();
        for (place, form) in [("query", route.described.query), ("header", route.described.headers)] {
            parameters.extend(form.into_iter().flat_map(|form| self.fields(place, form)));
        }
        parameters
    }

    /// Describes the fields of a type as parameters in this place.
    fn fields(&mut self, place: &str, form: Form) -> Vec<Value> {
        let schema = self.requests.schema(form);
        let is_required =
            |name: &String| schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields
            .map(|(name, field)| {
                let mut field = without_null(field.clone());
                let about = field.as_object_mut().and_then(|field| field.remove("description"));
                let mut parameter = json!({
                    "name": name, "in": place, "required": is_required(name), "schema": field,
                });
                if let Some(about) = about {
                    parameter["description"] = about;
                }
                parameter
            })
            .collect()
    }

    fn responses(&mut self, route: &Row) -> Value {
        let mut responses = Map::new();
        for answer in route.described.answers() {
            responses.insert(answer.status.to_string(), self.response(answer.status, answer.content));
        }
        let mut statuses = Vec::new();
        if route.is_gated {
            statuses.extend([401, 429]);
        }
        if route.pattern.contains('{') {
            statuses.push(404);
        }
        if route.takes_json {
            statuses.extend([400, 403, 413, 415, 422]);
        } else if route.pattern.starts_with("/api") {
            statuses.push(422);
        }
        for status in statuses {
            if !responses.contains_key(&status.to_string()) {
                responses.insert(status.to_string(), self.response(status, described::PROBLEM));
            }
        }
        let mut other = self.response(500, described::PROBLEM);
        other["description"] = "What went wrong".into();
        responses.insert("default".to_owned(), other);
        Value::Object(responses)
    }

    fn response(&mut self, status: u16, content: Content) -> Value {
        let number = http::StatusCode::from_u16(status).ok();
        let words = number.and_then(|status| status.canonical_reason()).unwrap_or("What went wrong");
        let mut response = json!({ "description": words });
        match content {
            Content::Nothing => {}
            Content::Json(form) => {
                response["content"] = json!({ "application/json": { "schema": self.answers.schema(form) } });
            }
            Content::Problem(form) => {
                response["content"] =
                    json!({ "application/problem+json": { "schema": self.answers.schema(form) } });
            }
            Content::Media(types) => {
                let types = types.iter().map(|media| ((*media).to_owned(), json!({ "schema": {} })));
                response["content"] = Value::Object(types.collect());
            }
        }
        let own = headers::of_answer(status);
        if !own.is_empty() {
            response["headers"] = Value::Object(own);
        }
        response
    }
}

/// Adds the parts that all resources with versions share: answers carry the `ETag`, changes take `If-Match`.
fn describe_versions(operation: &mut Value) {
    let is_change = !operation["responses"]["412"].is_null();
    let responses = operation["responses"].as_object_mut().into_iter().flatten();
    for (_, response) in responses.filter(|(status, _)| ["200", "201", "412"].contains(&status.as_str())) {
        response["headers"]["ETag"] =
            json!({ "description": "The version, for `If-Match`.", "schema": { "type": "string" } });
    }
    if let Some(parameters) = operation["parameters"].as_array_mut().filter(|_| is_change) {
        parameters.push(headers::if_match());
    }
}

/// Builds an operation id such as `get_api_sessions_id`.
fn id(route: &Row) -> String {
    let words = route.pattern.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    format!("{}_{}", route.method.as_str().to_lowercase(), words.join("_"))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod typescript;
