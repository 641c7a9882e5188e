//! Reduces a schema to what a service documents: keywords that it knows, with values that they may have.

use aethon_core::provider::Provider;
use serde_json::{Map, Value, json};

use super::names::{Direction, NameMap};

/// How deep schemas may lie in each other.
const MAX_DEPTH: usize = 24;
/// Maximum length of the remark about a property's own name.
const MAX_REMARK: usize = 120;

/// The kinds of values that JSON Schema has.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
/// What other languages and older tools call them.
const OTHER_TYPES: [(&str, &str); 15] = [
    ("str", "string"),
    ("text", "string"),
    ("date", "string"),
    ("datetime", "string"),
    ("int", "integer"),
    ("long", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("bool", "boolean"),
    ("dict", "object"),
    ("map", "object"),
    ("list", "array"),
    ("none", "null"),
    ("nil", "null"),
];
/// The formats that Gemini documents.
const GEMINI_FORMATS: [&str; 8] = ["date-time", "date", "time", "int32", "int64", "float", "double", "enum"];

/// The schemas that a service accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaForm {
    /// JSON Schema without what few services know.
    Common,
    /// The keywords that Gemini documents.
    Gemini,
    /// As common, with nothing but properties at the top, as Amazon's models require.
    Bedrock,
}

impl SchemaForm {
    /// Returns the form of a provider.
    pub(crate) fn of(provider: Provider) -> Self {
        match provider {
            Provider::Gemini => Self::Gemini,
            Provider::Bedrock => Self::Bedrock,
            _ => Self::Common,
        }
    }
}

/// Reduces the schema of a tool's arguments, and notes the names of properties that are replaced.
pub(super) fn arguments(schema: &Map<String, Value>, form: SchemaForm, names: &mut NameMap) -> Value {
    let mut reduced = Reducing { form, is_top: true }.object(schema, MAX_DEPTH, names);
    if form == SchemaForm::Bedrock {
        reduced.retain(|keyword, _| matches!(keyword.as_str(), "type" | "properties" | "required"));
    }
    Value::Object(reduced)
}

#[derive(Clone, Copy)]
struct Reducing {
    form: SchemaForm,
    is_top: bool,
}

impl Reducing {
    fn value(self, schema: &Value, depth: usize, names: &mut NameMap) -> Value {
        match (schema, depth.checked_sub(1)) {
            (Value::Object(fields), Some(deeper)) => {
                let below = Self { is_top: false, ..self };
                Value::Object(below.object(&with_parts(fields), deeper, names))
            }
            _ => json!({}),
        }
    }

    fn object(self, schema: &Map<String, Value>, depth: usize, names: &mut NameMap) -> Map<String, Value> {
        let mut out = Map::new();
        self.kinds(schema, &mut out);
        self.words(schema, &mut out);
        self.values(schema, &mut out);
        self.bounds(schema, &mut out);
        self.properties(schema, &mut out, depth, names);
        self.items(schema, &mut out, depth, names);
        self.alternatives(schema, &mut out, depth, names);
        out
    }

    fn is_gemini(self) -> bool {
        self.form == SchemaForm::Gemini
    }

    /// Writes the type. Several types besides `null` are alternatives for Gemini.
    fn kinds(self, schema: &Map<String, Value>, out: &mut Map<String, Value>) {
        let mut kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => kind_of(kind).into_iter().collect(),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(|kind| kind_of(kind.as_str()?)).collect(),
            _ => Vec::new(),
        };
        let mut seen = Vec::new();
        kinds.retain(|kind| {
            !seen.contains(kind) && {
                seen.push(*kind);
                true
            }
        });
        if kinds.is_empty() {
            // What it has says what it is.
            if schema.get("properties").is_some_and(Value::is_object) {
                kinds.push("object");
            } else if schema.contains_key("items") {
                kinds.push("array");
            }
        }
        let is_nullable = schema.get("nullable") == Some(&Value::Bool(true));
        if is_nullable && !kinds.is_empty() && !kinds.contains(&"null") {
            kinds.push("null");
        }
        let real = kinds.iter().filter(|kind| **kind != "null").count();
        match kinds.as_slice() {
            [] => {}
            [kind] => {
                out.insert("type".into(), (*kind).into());
            }
            _ if self.is_gemini() && real > 1 => {
                let part = |kind: &&str| match *kind {
                    "array" => json!({ "type": "array", "items": {} }),
                    kind => json!({ "type": kind }),
                };
                out.insert("anyOf".into(), kinds.iter().map(part).collect());
            }
            _ => {
                out.insert("type".into(), json!(kinds));
            }
        }
    }

    fn words(self, schema: &Map<String, Value>, out: &mut Map<String, Value>) {
        for keyword in ["title", "description", "format", "pattern"] {
            let Some(Value::String(text)) = schema.get(keyword) else { continue };
            let is_taken = match keyword {
                "format" => !self.is_gemini() || GEMINI_FORMATS.contains(&text.as_str()),
                "pattern" => !self.is_gemini(),
                _ => true,
            };
            if is_taken && !text.is_empty() {
                out.insert(keyword.into(), text.as_str().into());
            }
        }
    }

    fn values(self, schema: &Map<String, Value>, out: &mut Map<String, Value>) {
        let constant = schema.get("const").filter(|_| self.is_gemini()).map(|value| vec![value.clone()]);
        let listed = schema.get("enum").and_then(Value::as_array).cloned().or(constant);
        if let Some(mut listed) = listed {
            let mut seen: Vec<Value> = Vec::new();
            let is_taken = |value: &Value| !self.is_gemini() || value.is_string() || value.is_number();
            listed.retain(|value| {
                let is_new = is_taken(value) && fits_kind(value, out.get("type")) && !seen.contains(value);
                if is_new {
                    seen.push(value.clone());
                }
                is_new
            });
            if !listed.is_empty() {
                out.insert("enum".into(), listed.into());
            }
        }
        if self.is_gemini() {
            return;
        }
        for keyword in ["const", "default"] {
            if let Some(value) = schema.get(keyword) {
                out.insert(keyword.into(), value.clone());
            }
        }
        if let Some(examples @ Value::Array(_)) = schema.get("examples") {
            out.insert("examples".into(), examples.clone());
        }
        if let Some(unique @ Value::Bool(_)) = schema.get("uniqueItems") {
            out.insert("uniqueItems".into(), unique.clone());
        }
    }

    fn bounds(self, schema: &Map<String, Value>, out: &mut Map<String, Value>) {
        for keyword in ["minimum", "maximum"] {
            let (strict, is_strict) = match keyword {
                "minimum" => ("exclusiveMinimum", schema.get("exclusiveMinimum")),
                _ => ("exclusiveMaximum", schema.get("exclusiveMaximum")),
            };
            let number = schema.get(keyword).filter(|number| number.is_number());
            // Draft 4 says whether the bound itself is excluded.
            let excluded = match is_strict {
                Some(Value::Bool(true)) => number,
                Some(number @ Value::Number(_)) => Some(number),
                _ => None,
            };
            match (excluded, number) {
                (Some(bound), _) if !self.is_gemini() => {
                    out.insert(strict.into(), bound.clone());
                }
                (Some(bound), None) => {
                    out.insert(keyword.into(), bound.clone());
                }
                _ => {}
            }
            if let Some(number) = number.filter(|_| is_strict != Some(&Value::Bool(true)) || self.is_gemini())
            {
                out.insert(keyword.into(), number.clone());
            }
        }
        let lengths: &[&str] = match self.is_gemini() {
            true => &["minItems", "maxItems"],
            false => &["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"],
        };
        for keyword in lengths {
            if let Some(length) = schema.get(*keyword).and_then(whole) {
                out.insert((*keyword).into(), length.into());
            }
        }
        if let Some(Value::Number(step)) = schema.get("multipleOf")
            && !self.is_gemini()
            && step.as_f64().is_some_and(|step| step > 0.0)
        {
            out.insert("multipleOf".into(), step.clone().into());
        }
    }

    fn properties(
        self,
        schema: &Map<String, Value>,
        out: &mut Map<String, Value>,
        depth: usize,
        names: &mut NameMap,
    ) {
        let declared = schema.get("properties").and_then(Value::as_object);
        let mut required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(named)) => named.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(name)) => vec![name],
            _ => Vec::new(),
        };
        if let Some(declared) = declared {
            let mut reduced = Map::new();
            for (name, property) in declared.iter().filter(|(_, property)| **property != Value::Bool(false)) {
                let sent = names.name(name);
                let mut value = self.value(property, depth, names.below(name));
                if sent != *name {
                    describe_name(&mut value, name);
                }
                reduced.insert(sent, value);
                // Draft 3 says it beside the property.
                if property.get("required") == Some(&Value::Bool(true)) {
                    required.push(name);
                }
            }
            let mut kept: Vec<String> = Vec::new();
            for name in required {
                let sent = names.name(name);
                if reduced.contains_key(&sent) && !kept.contains(&sent) {
                    kept.push(sent);
                }
            }
            out.insert("properties".into(), reduced.into());
            if !kept.is_empty() {
                out.insert("required".into(), kept.into());
            }
        } else if self.is_top {
            out.insert("properties".into(), json!({}));
        }
        match schema.get("additionalProperties") {
            Some(closed @ Value::Bool(_)) => {
                out.insert("additionalProperties".into(), closed.clone());
            }
            Some(others @ Value::Object(_)) => {
                let others = self.value(others, depth, names.others());
                out.insert("additionalProperties".into(), others);
            }
            _ => {}
        }
    }

    /// Writes the items, which an array must have at most services. A list of items by their places is any of them.
    fn items(
        self,
        schema: &Map<String, Value>,
        out: &mut Map<String, Value>,
        depth: usize,
        names: &mut NameMap,
    ) {
        let by_place =
            ["prefixItems", "items"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        let mut parts: Vec<Value> = Vec::new();
        for item in by_place.flatten() {
            let part = self.value(item, depth, names.items());
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        let items = match (schema.get("items"), parts.as_slice()) {
            (Some(items @ Value::Object(_)), []) => Some(self.value(items, depth, names.items())),
            (_, [single]) => Some(single.clone()),
            (_, [_, ..]) => Some(json!({ "anyOf": parts })),
            _ if has_kind(out, "array") => Some(json!({})),
            _ => None,
        };
        if let Some(items) = items {
            out.insert("items".into(), items);
        }
    }

    fn alternatives(
        self,
        schema: &Map<String, Value>,
        out: &mut Map<String, Value>,
        depth: usize,
        names: &mut NameMap,
    ) {
        if self.is_top {
            return;
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(parts)) = schema.get(keyword) else { continue };
            let parts: Vec<Value> = parts
                .iter()
                .filter(|part| part.is_object())
                .map(|part| self.value(part, depth, names))
                .collect();
            if parts.is_empty() {
                continue;
            }
            let keyword = if self.is_gemini() { "anyOf" } else { keyword };
            if !out.contains_key(keyword) {
                out.insert(keyword.into(), parts.into());
            }
        }
    }
}

/// Returns the schema with the parts of an `allOf` in it.
fn with_parts(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut whole = schema.clone();
    // A few levels are enough: a part of a part is rare.
    for _ in 0..4 {
        let Some(Value::Array(parts)) = whole.remove("allOf") else { break };
        for part in parts {
            let Value::Object(part) = part else { continue };
            for (keyword, value) in part {
                merge(&mut whole, keyword, value);
            }
        }
    }
    whole.remove("allOf");
    whole
}

fn merge(whole: &mut Map<String, Value>, keyword: String, value: Value) {
    match (keyword.as_str(), whole.get_mut(&keyword), value) {
        (_, None, value) => {
            whole.insert(keyword, value);
        }
        ("properties", Some(Value::Object(known)), Value::Object(more)) => {
            for (name, schema) in more {
                known.entry(name).or_insert(schema);
            }
        }
        ("required" | "allOf", Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
        _ => {}
    }
}

fn kind_of(kind: &str) -> Option<&'static str> {
    let kind = kind.trim().to_ascii_lowercase();
    let other = || OTHER_TYPES.iter().find(|(name, _)| *name == kind).map(|(_, known)| *known);
    TYPES.iter().find(|known| **known == kind).copied().or_else(other)
}

fn has_kind(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(known)) => known == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|known| known == kind),
        _ => false,
    }
}

/// Returns whether a value can be of a type.
fn fits_kind(value: &Value, kind: Option<&Value>) -> bool {
    let fits = |kind: &str| match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number" || (kind == "integer" && number.as_f64().is_some_and(|n| n.fract() == 0.0))
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    };
    match kind {
        Some(Value::String(kind)) => fits(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    }
}

/// Returns a length, which some write as a number with a fraction.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0 && *number < 1e15);
    value.as_u64().or_else(|| float().map(|number| number as u64))
}

/// Says the tool's own name of a property that is sent under another.
fn describe_name(schema: &mut Value, name: &str) {
    let name: String = name.chars().take(MAX_REMARK).collect();
    let said = schema.get("description").and_then(Value::as_str).map(|text| format!(" {text}"));
    schema["description"] = format!("(`{name}`){}", said.unwrap_or_default()).into();
}

/// Converts arguments to or from the names that are sent.
pub(super) fn convert(names: &NameMap, arguments: &Value, direction: Direction) -> Value {
    names.convert(arguments, direction)
}
