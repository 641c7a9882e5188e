//! A tool's arguments as a type: the JSON Schema for the model, and the parser of the model's input.
//!
//! The schema is limited to what every service understands: no `$schema`, no references, no titles, no number formats,
//! and optional arguments may be left out but not null.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Returns the schema of a type: an object that accepts only its own fields.
pub(super) fn schema<Arguments: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generated = settings.into_generator().into_root_schema_for::<Arguments>();
    let mut schema = generated.to_value();
    plain(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        // The purpose of the type is in the tool's own description.
        schema.remove("description");
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.insert("additionalProperties".into(), false.into());
    }
    schema
}

/// Parses a model's input. The error begins with the path of the wrong argument, unless the whole is wrong.
pub(super) fn parse<Arguments: DeserializeOwned>(input: Value) -> Result<Arguments, String> {
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        let why = error.into_inner();
        if path == "." { why.to_string() } else { format!("`{path}`: {why}") }
    })
}

/// Removes what only some services understand, here and in everything below.
fn plain(value: &mut Value) {
    match value {
        Value::Object(schema) => plain_object(schema),
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn plain_object(schema: &mut Map<String, Value>) {
    for noise in ["$schema", "title", "format", "default"] {
        // An argument may have this name; then it is a schema of its own.
        if schema.get(noise).is_some_and(|value| !value.is_object()) {
            schema.remove(noise);
        }
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        // Doc comments are wrapped like code.
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    schema.values_mut().for_each(plain);
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// What the struct is for.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema and its errors matter")]
    struct Arguments {
        /// The path
        /// of the file.
        path: String,
        /// From here on.
        #[schemars(range(min = 1))]
        offset: Option<u64>,
        /// How.
        mode: Option<Mode>,
        #[serde(default)]
        format: Vec<Inner>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Fast,
        Slow,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema and its errors matter")]
    struct Inner {
        width: u8,
    }

    #[derive(JsonSchema)]
    struct Nothing {}

    #[test]
    fn a_schema_is_what_every_service_understands() {
        let width = json!({"type": "integer", "minimum": 0, "maximum": 255});
        let inner = json!({"type": "object", "properties": {"width": width}, "required": ["width"]});
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The path of the file."},
                "offset": {"type": "integer", "minimum": 1, "description": "From here on."},
                "mode": {"type": "string", "enum": ["fast", "slow"], "description": "How."},
                "format": {"type": "array", "items": inner},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!(schema::<Arguments>(), expected);
        let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(schema::<Nothing>(), nothing);
    }

    #[test]
    fn an_error_names_the_argument() {
        let check = |input: Value, expected: &str| {
            let error = parse::<Arguments>(input).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        check(json!({"path": 7}), "`path`: invalid type: integer `7`, expected a string");
        check(json!({"path": "a", "offset": "b"}), "`offset`: invalid type: string");
        check(
            json!({"path": "a", "mode": "odd"}),
            "`mode`: unknown variant `odd`, expected `fast` or `slow`",
        );
        check(
            json!({"path": "a", "format": [{"width": 1}, {"width": 900}]}),
            "`format[1].width`: invalid value",
        );
        check(json!({}), "missing field `path`");
        assert!(parse::<Arguments>(json!({"path": "a", "offset": null, "unknown": 1})).is_ok());
    }
}
