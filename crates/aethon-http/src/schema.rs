//! JSON Schemas of Rust types, in the plain form that the OpenAPI document has and that requests are checked against.
//!
//! `schemars` derives them, with the doc comments as descriptions. Here they lose what says nothing to a client: formats
//! that only name a Rust type, and choices that are written as a list of constants. What a request is read as and what
//! the document says about it are one type, so they cannot differ (`typed`).

use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// How the schema of a type is made. Types have one each, so that a row of the table of routes can name them.
pub(crate) type Form = fn(&mut SchemaGenerator) -> Schema;

/// Returns the form of a type.
pub(crate) const fn form<T: JsonSchema>() -> Form {
    generated::<T>
}

fn generated<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Makes schemas that share their parts.
pub(crate) struct Schemas(SchemaGenerator);

impl Schemas {
    /// Makes schemas of what the program answers. Their objects are components of an OpenAPI document.
    pub(crate) fn of_answers() -> Self {
        Self(settings(Contract::Serialize).into_generator())
    }

    /// Makes schemas of what clients send, in the same way.
    pub(crate) fn of_bodies() -> Self {
        Self(settings(Contract::Deserialize).into_generator())
    }

    /// Makes schemas of what clients send, each complete in itself.
    pub(crate) fn of_requests() -> Self {
        let whole = settings(Contract::Deserialize).with(|settings| settings.inline_subschemas = true);
        Self(whole.into_generator())
    }

    /// Returns the schema of a form; a reference if it is a component.
    pub(crate) fn schema(&mut self, form: Form) -> Value {
        plain(form(&mut self.0).to_value())
    }

    /// Returns the components that the schemas refer to.
    pub(crate) fn components(mut self) -> Map<String, Value> {
        let is_answered = matches!(self.0.contract(), Contract::Serialize);
        let defined = self.0.take_definitions(false).into_iter();
        let shown = |schema| if is_answered { answered(plain(schema)) } else { plain(schema) };
        defined.map(|(name, schema)| (name, shown(schema))).collect()
    }
}

/// Returns the schema of an answered object: a field that may be missing is left out, and never null.
fn answered(mut schema: Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        if !required.contains(&json!(name)) {
            *field = without_null(field.take());
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
        choices.iter_mut().for_each(|choice| *choice = answered(choice.take()));
    }
    schema
}

/// Returns the schema of something that is left out rather than null.
pub(crate) fn without_null(mut field: Value) -> Value {
    if let Some(choices) = field["anyOf"].as_array_mut() {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            if let Some(field) = field.as_object_mut() {
                field.remove("anyOf");
                for (key, value) in only {
                    field.entry(key).or_insert(value);
                }
            }
        }
    }
    if let Some(kinds) = field["type"].as_array_mut() {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            field["type"] = only.clone();
        }
    }
    if let Some(words) = field["enum"].as_array_mut() {
        words.retain(|word| !word.is_null());
    }
    // Indexing above leaves no null behind where there was nothing.
    if let Some(field) = field.as_object_mut() {
        field.retain(|_, value| !value.is_null());
    }
    field
}

fn settings(contract: Contract) -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
        settings.contract = contract;
    })
}

/// Returns a schema without what says nothing to a client, here and in everything below.
fn plain(value: Value) -> Value {
    match value {
        // `true` allows anything, as does a schema without rules, which more programs read.
        Value::Bool(true) => json!({}),
        Value::Object(schema) => Value::Object(plain_object(schema)),
        value => value,
    }
}

fn plain_object(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(choices)) = schema.get("oneOf")
        && let Some((words, meanings)) = words(choices)
    {
        schema.remove("oneOf");
        schema.insert("type".into(), "string".into());
        schema.insert("enum".into(), words);
        let about = schema.get("description").and_then(Value::as_str);
        let about: Vec<String> = about.into_iter().map(str::to_owned).chain(meanings).collect();
        schema.insert("description".into(), about.join("\n\n").into());
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = sentences(text);
    }
    // Names of Rust's numbers; the standard ones stay.
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| {
        format.starts_with("uint") || format.starts_with("int") || matches!(format, "double" | "float")
    }) {
        schema.remove("format");
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    // A type or null stays; of several types, a value has exactly one.
    if let Some(Value::Array(choices)) = schema.get("anyOf")
        && choices.iter().all(|choice| choice["type"] != "null")
        && let Some(choices) = schema.remove("anyOf")
    {
        schema.insert("oneOf".into(), choices);
    }
    let mut with = |name: &str, change: fn(Value) -> Value| {
        if let Some(part) = schema.remove(name) {
            schema.insert(name.to_owned(), change(part));
        }
    };
    for name in ["items", "additionalProperties"] {
        with(name, |part| if part == Value::Bool(false) { part } else { plain(part) });
    }
    for name in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        with(name, |part| match part {
            Value::Array(parts) => parts.into_iter().map(plain).collect(),
            part => part,
        });
    }
    with("properties", |part| match part {
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, plain(field))).collect(),
        part => part,
    });
    schema
}

/// Returns the words of a choice that is written as constants, and what each of them means; `None` for other choices.
fn words(choices: &[Value]) -> Option<(Value, Vec<String>)> {
    let (mut words, mut meanings) = (Vec::new(), Vec::new());
    for choice in choices {
        match (&choice["const"], &choice["enum"]) {
            (Value::String(word), _) => {
                if let Some(about) = choice["description"].as_str() {
                    meanings.push(format!("`{word}`: {}", sentences(about)));
                }
                words.push(json!(word));
            }
            (_, Value::Array(several)) => words.extend(several.iter().cloned()),
            _ => return None,
        }
    }
    Some((words.into(), meanings))
}

/// Returns a doc comment as a client reads it: paragraphs in one line each, without links to Rust types.
fn sentences(comment: &str) -> String {
    let line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs: Vec<String> = comment.split("\n\n").map(line).collect();
    paragraphs.join("\n\n").replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kettle can do.
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is wanted")]
    struct Kettle {
        /// How full it is, see [`Kettle`]
        /// in litres.
        #[schemars(range(max = 2))]
        level: u64,
        state: State,
        next: Option<Box<Kettle>>,
        anything: Value,
    }

    #[derive(JsonSchema)]
    #[schemars(inline, rename_all = "snake_case")]
    #[allow(dead_code, reason = "only its schema is wanted")]
    enum State {
        /// It boils.
        Hot,
        Cold,
    }

    #[test]
    fn a_schema_is_plain() {
        let mut schemas = Schemas::of_answers();
        let reference = "#/components/schemas/Kettle";
        assert_eq!(schemas.schema(form::<Kettle>()), json!({ "$ref": reference }));
        let expected = json!({
            "type": "object",
            "description": "What a kettle can do.",
            "properties": {
                "level": {
                    "type": "integer", "minimum": 0, "maximum": 2,
                    "description": "How full it is, see `Kettle` in litres.",
                },
                "state": { "type": "string", "enum": ["cold", "hot"], "description": "`hot`: It boils." },
                "next": { "anyOf": [{ "$ref": reference }, { "type": "null" }] },
                "anything": {},
            },
            "required": ["level", "state", "next", "anything"],
        });
        let mut components = schemas.components();
        let own = components["Kettle"]["properties"]["state"]["enum"].as_array_mut().unwrap();
        own.sort_by_key(Value::to_string);
        assert_eq!(components["Kettle"], expected);
    }
}
