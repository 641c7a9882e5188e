//! Draws the references of a schema in, because not every service follows them.
//!
//! A reference within the schema becomes a copy of its target; one that leads back to itself, to nothing or to another
//! document becomes a schema that accepts anything. The copies are bounded, so that a schema that refers to itself twice on
//! every level stays small.

use serde_json::{Map, Value};

/// How large the result may be, roughly in bytes of its text.
const MAX_SIZE: usize = 96 * 1024;
/// How deep references may lead into each other.
const MAX_DEPTH: usize = 16;

/// Definitions, which nothing refers to any more once all references are drawn in.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Keywords that hold in a schema and in what it refers to, if both have them.
const JOINED: [&str; 5] = ["properties", "required", "allOf", "anyOf", "oneOf"];
/// Keywords that only describe.
const WORDS: [&str; 3] = ["title", "description", "default"];

/// Returns the schema without references.
pub(super) fn draw_in(root: &Value) -> Value {
    let mut drawing = Drawing { root, left: MAX_SIZE, open: Vec::new() };
    drawing.value(root, true)
}

struct Drawing<'a> {
    root: &'a Value,
    left: usize,
    /// The references that are being drawn in.
    open: Vec<&'a str>,
}

impl<'a> Drawing<'a> {
    /// Copies a value. `is_schema`: a key of properties is a name, and `$ref` there is no reference.
    fn value(&mut self, value: &'a Value, is_schema: bool) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.value(item, is_schema)).collect(),
            Value::Object(fields) if is_schema => self.schema(fields),
            Value::Object(fields) => {
                let field = |(name, field): (&'a String, &'a Value)| {
                    self.left = self.left.saturating_sub(name.len());
                    (name.clone(), self.value(field, true))
                };
                fields.iter().map(field).collect()
            }
            other => {
                self.left = self.left.saturating_sub(other.as_str().map_or(8, str::len));
                other.clone()
            }
        }
    }

    /// Copies a value that is no schema.
    fn plain(&mut self, value: &Value) -> Value {
        self.left = self.left.saturating_sub(value.to_string().len());
        value.clone()
    }

    fn schema(&mut self, fields: &'a Map<String, Value>) -> Value {
        if self.left == 0 {
            return Value::Object(Map::new());
        }
        self.left = self.left.saturating_sub(8);
        let mut own = Map::new();
        for (keyword, value) in fields {
            self.left = self.left.saturating_sub(keyword.len());
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" | "$id" | "id" | "$schema" | "$anchor" => {}
                known if DEFINITIONS.contains(&known) => {}
                // Values, not schemas.
                "const" | "default" | "enum" | "examples" => {
                    own.insert(keyword.clone(), self.plain(value));
                }
                "properties" | "patternProperties" | "dependentSchemas" => {
                    own.insert(keyword.clone(), self.value(value, false));
                }
                _ => {
                    own.insert(keyword.clone(), self.value(value, true));
                }
            }
        }
        let Some(target) = fields.get("$ref").and_then(Value::as_str) else { return Value::Object(own) };
        let mut drawn = self.target(target);
        let is_shared = |keyword: &&str| drawn.contains_key(*keyword) && own.contains_key(*keyword);
        if JOINED.iter().any(is_shared) {
            // Both hold, and one would hide the other.
            let words = WORDS.iter().filter_map(|word| Some(((*word).to_owned(), own.remove(*word)?)));
            let mut joined: Map<String, Value> = words.collect();
            joined.insert("allOf".into(), Value::Array(vec![Value::Object(own), Value::Object(drawn)]));
            return Value::Object(joined);
        }
        for (keyword, value) in own {
            // What stands beside a reference is said about this place.
            drawn.insert(keyword, value);
        }
        Value::Object(drawn)
    }

    /// Returns a copy of the target of a reference; an open schema if there is none, or if it leads back to itself.
    fn target(&mut self, reference: &'a str) -> Map<String, Value> {
        let is_cycle = self.open.contains(&reference) || self.open.len() >= MAX_DEPTH;
        let pointer = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/'));
        let pointer = pointer.and_then(unescaped);
        let found = pointer.and_then(|pointer| self.root.pointer(&pointer));
        let Some(Value::Object(target)) = found else { return Map::new() };
        if is_cycle {
            // The kind of the value is still of use.
            return target
                .iter()
                .filter(|(key, _)| *key == "type")
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
        }
        self.open.push(reference);
        let drawn = self.schema(target);
        self.open.pop();
        if let Value::Object(drawn) = drawn { drawn } else { Map::new() }
    }
}

/// Returns a text with its percent escapes decoded; `None` if they are no text.
fn unescaped(text: &str) -> Option<String> {
    let hex = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, more @ ..] = rest {
        let escape = match more {
            [high, low, ..] if *first == b'%' => hex(high).zip(hex(low)),
            _ => None,
        };
        bytes.push(escape.map_or(*first, |(high, low)| high << 4 | low));
        rest = if escape.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).ok()
}
