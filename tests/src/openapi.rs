//! A server's OpenAPI document, as tests use it: to generate random requests, and to check answers.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::http::{Request, Response};
use crate::random::Random;
use crate::server::Server;

/// Strings that often break programs.
const ODD: [&str; 14] = [
    "",
    " ",
    "0",
    "-1",
    "99999999999999999999",
    "null",
    "../../etc/passwd",
    "%00",
    "a\u{0}b",
    "\u{202e}\u{1f600}",
    "webchat:default",
    "'; drop table messages; --",
    "<script>1</script>",
    "2026-11-22T08:00:00Z",
];

/// The document.
pub struct Contract(Value);

/// One operation of it.
pub struct Operation<'c> {
    /// `GET`.
    pub method: String,
    /// `/api/sessions/{id}`.
    pub path: &'c str,
    about: &'c Value,
}

impl Contract {
    /// Fetches the document of a running server.
    pub fn of(server: &Server) -> Self {
        Self(server.get("/openapi.json").json())
    }

    /// The operations of the JSON API.
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.0["paths"].as_object().expect("the document has paths");
        let api = paths.iter().filter(|(path, _)| path.starts_with("/api") || path.starts_with("/webhook"));
        api.flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("a path has methods");
            methods.iter().map(|(method, about)| Operation { method: method.to_uppercase(), path, about })
        })
        .collect()
    }

    /// Generates a request for this operation, usually valid and now and then not.
    pub fn request(&self, operation: &Operation<'_>, random: &mut Random) -> Request {
        let (mut target, mut query) = (operation.path.to_owned(), String::new());
        for parameter in operation.about["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a parameter has a name");
            if parameter["in"] == "path" {
                let odd = escaped(odd(random));
                target = target.replace(&format!("{{{name}}}"), if odd.is_empty() { "x" } else { &odd });
            } else if random.below(2) == 0 {
                let value = match random.below(3) {
                    0 => odd(random).to_owned(),
                    _ => plain(&self.value(&parameter["schema"], random, 0)),
                };
                let separator = if query.is_empty() { '?' } else { '&' };
                let _ = write!(query, "{separator}{name}={}", escaped(&value));
            }
        }
        let request = Request::new(&operation.method, &(target + &query));
        let schema = &operation.about["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            return request;
        }
        let mut body = self.value(schema, random, 0);
        if random.below(3) == 0 {
            spoil(&mut body, random);
        }
        request.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Checks an answer against the document; the error says what does not match.
    pub fn check(&self, operation: &Operation<'_>, answer: &Response) -> Result<(), String> {
        if answer.status >= 500 && answer.status != 503 {
            return Err(format!("status {}", answer.status));
        }
        let (responses, status) = (&operation.about["responses"], answer.status.to_string());
        // Errors without an entry of their own must still be problem documents.
        let other = responses.get("default").filter(|_| answer.status >= 400);
        let told = responses.get(&status).or(other).ok_or_else(|| format!("status {status} is not told"))?;
        let Some(content) = told.get("content").and_then(Value::as_object) else { return Ok(()) };
        let media =
            answer.header("content-type").and_then(|media| media.split(';').next()).unwrap_or_default();
        match content.get(media).or_else(|| content.get("*/*")) {
            None => Err(format!("{media:?} is not told for {status}")),
            Some(form) if media.ends_with("json") => self.fits(&form["schema"], &answer.json(), "$"),
            Some(_) => Ok(()),
        }
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema["$ref"].as_str() {
            Some(reference) => self.0.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
            None => schema,
        }
    }

    fn fits(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let schema = self.resolved(schema);
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let tried = choices.iter().map(|choice| self.fits(choice, value, place));
            return tried.reduce(|one, other| one.or(other)).unwrap_or(Ok(()));
        }
        if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
            return Err(format!("{place}: {value} is none of {}", schema["enum"]));
        }
        if schema.get("const").is_some_and(|word| word != value) {
            return Err(format!("{place}: {value} is not {}", schema["const"]));
        }
        if let Some(text) = value.as_str() {
            let length = text.chars().count() as u64;
            if schema["minLength"].as_u64().is_some_and(|least| length < least)
                || schema["maxLength"].as_u64().is_some_and(|most| length > most)
            {
                return Err(format!("{place}: {value} is too short or too long"));
            }
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind, value)) {
            return Err(format!("{place}: {value} is none of {kinds:?}"));
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                return Err(format!("{place}: {name} is missing in {value}"));
            }
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(inner) = value.get(name) {
                self.fits(field, inner, &format!("{place}.{name}"))?;
            }
        }
        if let Some(items) = schema.get("items") {
            for item in value.as_array().into_iter().flatten() {
                self.fits(items, item, &format!("{place}[]"))?;
            }
        }
        Ok(())
    }

    /// Generates a value that a schema allows.
    fn value(&self, schema: &Value, random: &mut Random, depth: usize) -> Value {
        let schema = self.resolved(schema);
        if let Some(words) = schema["enum"].as_array() {
            return words[random.below(words.len())].clone();
        }
        if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return self.value(&choices[random.below(choices.len())], random, depth);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[random.below(kinds.len())].as_str().unwrap_or("null"),
            kind => kind.as_str().unwrap_or("any"),
        };
        match kind {
            "string" => json!(odd(random)),
            "integer" => {
                let (least, most) = (schema["minimum"].as_u64(), schema["maximum"].as_u64());
                let span = usize::try_from(most.unwrap_or(50) - least.unwrap_or(0)).unwrap_or(50);
                json!(least.unwrap_or(0) + random.below(span + 1) as u64)
            }
            "number" => json!(random.below(100) as f64 / 7.0),
            "boolean" => json!(random.below(2) == 0),
            "null" => Value::Null,
            "array" if depth < 3 => {
                (0..random.below(3)).map(|_| self.value(&schema["items"], random, depth + 1)).collect()
            }
            "array" => json!([]),
            "object" => self.object(schema, random, depth),
            _ => {
                let name = odd(random);
                json!({ name: odd(random) })
            }
        }
    }

    fn object(&self, schema: &Value, random: &mut Random, depth: usize) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut made = Map::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&name.as_str()) || random.below(2) == 0 {
                made.insert(name.clone(), self.value(field, random, depth + 1));
            }
        }
        made.into()
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => value.is_null(),
    }
}

/// Makes a body invalid, most of the time.
fn spoil(body: &mut Value, random: &mut Random) {
    let wrong = [json!(null), json!(7), json!([]), json!("x"), json!({"x": [{}]}), json!(1e300)];
    let wrong = wrong[random.below(wrong.len())].clone();
    match body.as_object_mut().filter(|fields| !fields.is_empty()) {
        Some(fields) => {
            let name = fields.keys().nth(random.below(fields.len())).cloned();
            fields.insert(name.unwrap_or_default(), wrong);
        }
        None => *body = wrong,
    }
}

fn odd(random: &mut Random) -> &'static str {
    ODD[random.below(ODD.len())]
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
