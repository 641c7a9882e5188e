//! Compares a value with a schema that has been examined.

use std::cell::Cell;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::place::{MAX_DEPTH, Place, resolve};

/// How many characters of a value a fault quotes.
const QUOTED: usize = 60;

/// The largest distance from a multiple that counts as rounding.
const ROUNDING: f64 = 1e-9;

/// Compares a number with a limit.
type Comparison = fn(f64, f64) -> bool;

/// A check against a schema; `root` is what its references mean.
pub(super) struct Check<'s> {
    pub(super) root: &'s Value,
    /// How many schemas may still be compared with a value.
    pub(super) left: Cell<u32>,
}

/// How many schemas are compared with values in one check. Forms that refer to each other can ask for any number.
pub(super) const MAX_STEPS: u32 = 200_000;

impl Check<'_> {
    /// Checks that a value fits a schema. `depth` counts nested schemas and references.
    pub(super) fn value(
        &self,
        schema: &Value,
        value: &Value,
        place: &Place,
        depth: usize,
    ) -> Result<(), String> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return Err(format!("{place} must not be there")),
            _ => return Ok(()),
        };
        if depth > 4 * MAX_DEPTH {
            return Err(format!("{place} is nested too deeply"));
        }
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(format!("{place} cannot be checked, because the schema has too many forms"));
        };
        self.left.set(left);
        if let Some(target) = fields.get("$ref").and_then(Value::as_str).and_then(|to| resolve(self.root, to))
        {
            self.value(target, value, place, depth + 1)?;
        }
        kinds(fields, value, place)?;
        listed(fields, value, place)?;
        match value {
            Value::Object(object) => self.object(fields, object, place, depth)?,
            Value::Array(items) => self.array(fields, items, place, depth)?,
            Value::String(text) => string(fields, text, place)?,
            Value::Number(_) => number(fields, value, place)?,
            Value::Bool(_) | Value::Null => {}
        }
        self.combined(fields, value, place, depth)
    }

    fn object(
        &self,
        fields: &Map<String, Value>,
        object: &Map<String, Value>,
        place: &Place,
        depth: usize,
    ) -> Result<(), String> {
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return Err(format!("{place} lacks the property `{name}`"));
            }
        }
        sized(fields, ("minProperties", "maxProperties"), object.len(), place)?;
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, value) in object {
            match properties.and_then(|properties| properties.get(name)) {
                Some(schema) => self.value(schema, value, &place.at(name), depth + 1)?,
                None => match fields.get("additionalProperties") {
                    Some(Value::Bool(false)) => {
                        return Err(format!(
                            "{place} has the property `{name}`, which the schema does not allow"
                        ));
                    }
                    Some(schema) => self.value(schema, value, &place.at(name), depth + 1)?,
                    None => {}
                },
            }
        }
        Ok(())
    }

    fn array(
        &self,
        fields: &Map<String, Value>,
        items: &[Value],
        place: &Place,
        depth: usize,
    ) -> Result<(), String> {
        sized(fields, ("minItems", "maxItems"), items.len(), place)?;
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            let repeated = items.iter().enumerate().find(|(index, item)| items[..*index].contains(item));
            if let Some((_, item)) = repeated {
                return Err(format!("{place} holds {} twice", quoted(item)));
            }
        }
        let first =
            fields.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or_else(|| fields.get("items")) {
                self.value(schema, item, &place.at(index), depth + 1)?;
            }
        }
        Ok(())
    }

    fn combined(
        &self,
        fields: &Map<String, Value>,
        value: &Value,
        place: &Place,
        depth: usize,
    ) -> Result<(), String> {
        let schemas = |keyword: &str| fields.get(keyword).and_then(Value::as_array).into_iter().flatten();
        let fits = |schema: &Value| self.value(schema, value, place, depth + 1);
        schemas("allOf").try_for_each(fits)?;
        if fields.contains_key("anyOf") {
            let mut faults = schemas("anyOf").map(fits).map(Result::err);
            let first = faults.next().flatten();
            if let Some(fault) = first
                && faults.all(|fault| fault.is_some())
            {
                return Err(format!("{place} fits none of the allowed forms; of the first: {fault}"));
            }
        }
        if fields.contains_key("oneOf") {
            let fitting = schemas("oneOf").filter(|schema| fits(schema).is_ok()).count();
            if fitting != 1 {
                return Err(format!("{place} fits {fitting} of the forms of which it must fit exactly one"));
            }
        }
        match fields.get("not") {
            Some(schema) if fits(schema).is_ok() => Err(format!("{place} has a form that is excluded")),
            _ => Ok(()),
        }
    }
}

fn kinds(fields: &Map<String, Value>, value: &Value, place: &Place) -> Result<(), String> {
    let allowed: Vec<&str> = match fields.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    match allowed.iter().any(|word| is_of(value, word)) {
        true => Ok(()),
        false => Err(format!("{place} must be of type {}, not {}", allowed.join(" or "), kind(value))),
    }
}

fn listed(fields: &Map<String, Value>, value: &Value, place: &Place) -> Result<(), String> {
    if let Some(expected) = fields.get("const").filter(|expected| !equal(expected, value)) {
        return Err(format!("{place} must be {}", quoted(expected)));
    }
    let Some(allowed) = fields.get("enum").and_then(Value::as_array) else { return Ok(()) };
    match allowed.iter().any(|one| equal(one, value)) {
        true => Ok(()),
        false => {
            let allowed: Vec<String> = allowed.iter().take(20).map(quoted).collect();
            Err(format!("{place} must be one of {}, not {}", allowed.join(", "), quoted(value)))
        }
    }
}

/// Compares values; `1` and `1.0` are the same number.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && other.is_number() && one.as_f64() == other.as_f64())
}

fn sized(
    fields: &Map<String, Value>,
    (least, most): (&str, &str),
    size: usize,
    place: &Place,
) -> Result<(), String> {
    let limit = |keyword: &str| fields.get(keyword).and_then(Value::as_u64);
    match (limit(least), limit(most)) {
        (Some(least), _) if (size as u64) < least => {
            Err(format!("{place} has {size} parts or characters, and needs at least {least}"))
        }
        (_, Some(most)) if size as u64 > most => {
            Err(format!("{place} has {size} parts or characters, and may have at most {most}"))
        }
        _ => Ok(()),
    }
}

fn string(fields: &Map<String, Value>, text: &str, place: &Place) -> Result<(), String> {
    sized(fields, ("minLength", "maxLength"), text.chars().count(), place)?;
    let pattern = fields.get("pattern").and_then(Value::as_str);
    match pattern.and_then(|pattern| Regex::new(pattern).ok()) {
        Some(regex) if !regex.is_match(text) => {
            Err(format!("{place} must match the pattern {:?}", regex.as_str()))
        }
        _ => Ok(()),
    }
}

fn number(fields: &Map<String, Value>, value: &Value, place: &Place) -> Result<(), String> {
    let number = value.as_f64().unwrap_or_default();
    let limit = |keyword: &str| fields.get(keyword).and_then(Value::as_f64);
    let rules: [(&str, Comparison, &str); 4] = [
        ("minimum", |number, limit| number >= limit, "at least"),
        ("maximum", |number, limit| number <= limit, "at most"),
        ("exclusiveMinimum", |number, limit| number > limit, "more than"),
        ("exclusiveMaximum", |number, limit| number < limit, "less than"),
    ];
    for (keyword, holds, words) in rules {
        if let Some(limit) = limit(keyword).filter(|limit| !holds(number, *limit)) {
            return Err(format!("{place} must be {words} {limit}, not {number}"));
        }
    }
    if let Some(step) = limit("multipleOf") {
        let times = number / step;
        if (times - times.round()).abs() > ROUNDING {
            return Err(format!("{place} must be a multiple of {step}, not {number}"));
        }
    }
    Ok(())
}

fn is_of(value: &Value, word: &str) -> bool {
    match word {
        "string" => value.is_string(),
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract().abs() <= 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    }
}

/// Returns the kind of a value in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::AnswerSchema;

    #[test]
    fn faults_name_their_place_in_the_value() {
        let check = |schema: Value, value: Value, expected: &str| {
            let fault = AnswerSchema::parse(schema.clone()).unwrap().check(&value).err().unwrap_or_default();
            assert!(
                fault.contains(expected) && fault.is_empty() == expected.is_empty(),
                "{schema} {value}: {fault}"
            );
        };
        let person = json!({"type": "object", "required": ["name", "tags"], "additionalProperties": false, "properties": {
            "name": {"type": "string", "minLength": 2},
            "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 150},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2, "uniqueItems": true},
        }});
        check(person.clone(), json!({"name": "Al", "age": 3.0, "tags": ["a"]}), "");
        check(person.clone(), json!([]), "the top level must be of type object, not an array");
        check(person.clone(), json!({"name": "Al"}), "the top level lacks the property `tags`");
        check(
            person.clone(),
            json!({"name": "A", "tags": []}),
            "`/name` has 1 parts or characters, and needs",
        );
        check(
            person.clone(),
            json!({"name": "Al", "tags": ["a", 3]}),
            "`/tags/1` must be one of \"a\", \"b\", not 3",
        );
        check(person.clone(), json!({"name": "Al", "tags": ["a", "a"]}), "`/tags` holds \"a\" twice");
        check(person.clone(), json!({"name": "Al", "tags": ["a", "b", "a"]}), "at most 2");
        check(
            person.clone(),
            json!({"name": "Al", "tags": [], "age": 1.5}),
            "`/age` must be of type integer or null",
        );
        check(
            person.clone(),
            json!({"name": "Al", "tags": [], "age": 150}),
            "must be less than 150, not 150",
        );
        check(person, json!({"name": "Al", "tags": [], "x/y": 1}), "has the property `x/y`");
        check(
            json!({"additionalProperties": {"type": "number"}}),
            json!({"a": "b"}),
            "`/a` must be of type number",
        );
        check(json!({"pattern": "^\\d{4}$"}), json!("2026"), "");
        check(json!({"pattern": "^\\d{4}$"}), json!("20261"), "must match the pattern");
        check(json!({"const": 1}), json!(1.0), "");
        check(json!({"const": "x"}), json!("y"), "must be \"x\"");
        check(json!({"multipleOf": 0.1}), json!(0.3), "");
        check(json!({"multipleOf": 2}), json!(3), "multiple of 2");
        check(json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a"]), "");
        check(
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            json!(["a", 1]),
            "`/1` must not be there",
        );
    }

    #[test]
    fn combinations_and_references_are_followed() {
        let check = |schema: Value, value: Value, fits: bool| {
            let checked = AnswerSchema::parse(schema.clone()).unwrap().check(&value);
            assert_eq!(checked.is_ok(), fits, "{schema} {value}: {checked:?}");
        };
        let either = json!({"anyOf": [{"type": "string"}, {"type": "number", "minimum": 3}]});
        check(either.clone(), json!("x"), true);
        check(either.clone(), json!(5), true);
        check(either, json!(1), false);
        let one = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
        check(one.clone(), json!(1.5), true);
        check(one, json!(1), false);
        check(json!({"not": {"type": "string"}}), json!("x"), false);
        check(json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(3), false);
        let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["id"],
            "properties": {"id": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
        check(tree.clone(), json!({"id": 1, "children": [{"id": 2}]}), true);
        check(tree, json!({"id": 1, "children": [{"id": "2"}]}), false);
        // A schema that only refers to itself ends.
        check(json!({"$ref": "#"}), json!(1), false);
    }
}
