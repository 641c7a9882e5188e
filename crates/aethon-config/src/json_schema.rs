//! Describes the configuration: a JSON Schema for editors and the configuration page, and the list of its keys.

use aethon_core::log::Level;
use aethon_core::model::Effort;
use aethon_core::provider::{AnthropicVersion, OpenAiApi, Provider};
use aethon_core::sandbox::Sandbox;
use aethon_core::storage::{FilePlace, Synchronous};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::limits::LIMITS;
use crate::schema::{Config, offers};

/// Stands for an owner-chosen name in a known key.
pub const NAME: &str = "NAME";

/// Returns the JSON Schema of the configuration, with descriptions, defaults, allowed words and ranges.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut whole = generator.into_root_schema_for::<Config>().to_value();
    plain(&mut whole);
    for (key, range) in LIMITS {
        let pointer = pointer_to(&whole, key);
        if let Some(Value::Object(property)) = pointer.and_then(|pointer| whole.pointer_mut(&pointer)) {
            let least = if range.is_above { "exclusiveMinimum" } else { "minimum" };
            property.remove("minimum");
            property.insert(least.to_owned(), number(range.least));
            if range.most.is_finite() {
                property.insert("maximum".to_owned(), number(range.most));
            }
        }
    }
    whole
}

/// A known key.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownKey {
    /// The full key, with [`NAME`] for an owner-chosen name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its built-in value.
    pub default: Value,
    /// The allowed words; empty if others are allowed too.
    pub words: Vec<String>,
}

/// Lists all known keys, ordered by section.
pub fn known_keys() -> Vec<KnownKey> {
    let whole = schema();
    let mut keys = Vec::new();
    collect(&whole, &whole, String::new(), &mut keys);
    keys
}

/// The schema of a secret.
pub(crate) fn secret(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "password", "writeOnly": true })
}

/// Generates the schemas of keys that take one of several words.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $words:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "enum": $words })
        }
    )*};
}

words! {
    /// The schema of a provider's name.
    provider: Provider::names();
    /// The schema of the embedding provider.
    embedding_provider: offers::embedding::words();
    /// The schema of the transcription provider.
    transcription_provider: offers::transcription::words();
    /// The schema of OpenAI's API variant.
    openai_api: OpenAiApi::NAMES;
    /// The schema of Anthropic's API version.
    anthropic_version: AnthropicVersion::NAMES;
    /// The schema of the sandbox of shell commands.
    sandbox: Sandbox::NAMES;
    /// The schema of the place of recordings and outputs.
    file_place: FilePlace::NAMES;
    /// The schema of the database's durability.
    synchronous: Synchronous::NAMES;
    /// The schema of a log level.
    level: Level::ALL.map(Level::as_str);
}

/// The schema of an optional effort.
pub(crate) fn effort(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "enum": Effort::ALL.map(Effort::as_str) })
}

/// The schema of a table of secrets.
pub(crate) fn secrets(generator: &mut SchemaGenerator) -> Schema {
    let values = secret(generator);
    json_schema!({ "type": "object", "additionalProperties": values })
}

fn number(value: f64) -> Value {
    // A whole number if possible: ranges of counts read better that way.
    if value.fract() == 0.0 { Value::from(value as i64) } else { Value::from(value) }
}

/// Turns a choice between constants into an enum, which editors and forms understand, and removes the source's line breaks
/// from descriptions.
fn plain(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            if let Some(Value::Array(choices)) = entries.get("oneOf")
                && let Some(words) =
                    choices.iter().map(|choice| choice.get("const").cloned()).collect::<Option<Vec<_>>>()
            {
                entries.remove("oneOf");
                entries.insert("type".to_owned(), Value::from("string"));
                entries.insert("enum".to_owned(), Value::from(words));
            }
            if let Some(Value::String(description)) = entries.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            entries.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Returns the JSON pointer to the description of `key` in the schema.
fn pointer_to(whole: &Value, key: &str) -> Option<String> {
    let mut pointer = String::new();
    for step in key.split('.') {
        if let Some(target) = whole.pointer(&pointer)?.get("$ref").and_then(Value::as_str) {
            pointer = target.trim_start_matches('#').to_owned();
        }
        pointer = format!("{pointer}/properties/{step}");
    }
    Some(pointer)
}

fn resolved<'s>(whole: &'s Value, part: &'s Value) -> &'s Value {
    part.get("$ref")
        .and_then(Value::as_str)
        .and_then(|target| whole.pointer(target.trim_start_matches('#')))
        .unwrap_or(part)
}

fn collect(whole: &Value, part: &Value, prefix: String, keys: &mut Vec<KnownKey>) {
    let target = resolved(whole, part);
    let join = |step: &str| if prefix.is_empty() { step.to_owned() } else { format!("{prefix}.{step}") };
    if let Some(properties) = target.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            collect(whole, property, join(name), keys);
        }
        return;
    }
    let text = |part: &Value| part.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let words = target.get("enum").and_then(Value::as_array).into_iter().flatten();
    keys.push(KnownKey {
        name: prefix.clone(),
        description: text(part),
        default: part.get("default").cloned().unwrap_or_default(),
        words: words.filter_map(Value::as_str).filter(|word| !word.is_empty()).map(str::to_owned).collect(),
    });
    if let Some(entry) = target.get("additionalProperties").filter(|entry| entry.is_object()) {
        collect(whole, entry, join(NAME), keys);
    }
}
