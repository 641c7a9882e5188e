//! The arguments that a model sent: checked before a tool sees them, and summarised in one line for a person.

use aethon_core::message::ToolCall;
use aethon_core::tool::{ArgumentRole, ToolSpec};
use aethon_core::visible;
use serde_json::Value;

/// The longest summary line; the full arguments are shown beside it.
const MAX_SUMMARY: usize = 200;

/// Checks that the input is an object with everything that the schema requires. The error is a sentence for the model.
pub(super) fn check(spec: &ToolSpec, input: &Value) -> Result<(), String> {
    let Value::Object(fields) = input else {
        return Err(match input {
            Value::String(_) => {
                format!("the arguments of `{}` are not valid JSON; send a JSON object", spec.name)
            }
            _ => format!("the arguments of `{}` must be a JSON object", spec.name),
        });
    };
    let required = spec.parameters.get("required").and_then(Value::as_array);
    let missing: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| fields.get(*name).is_none_or(Value::is_null))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("`{}` needs the argument `{}`", spec.name, missing.join("`, `")))
}

/// Gives arguments the type that the schema names where a model wrote the value in another one: `"5"` for 5, or a list as
/// a string of JSON. Anything whose meaning is not clear stays as it is.
pub(super) fn coerce(spec: &ToolSpec, input: &mut Value) {
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    for (name, value) in input.as_object_mut().into_iter().flatten() {
        let Some(schema) = properties.and_then(|properties| properties.get(name)) else { continue };
        let allowed = types(schema);
        if allowed.is_empty() || allowed.iter().any(|word| is_of(value, word)) {
            continue;
        }
        if let Some(converted) = allowed.iter().find_map(|word| converted(value, word)) {
            *value = converted;
        }
    }
}

fn converted(value: &Value, word: &str) -> Option<Value> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
    let found = match (word, value) {
        ("integer", Value::Number(number)) => {
            let number = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15)?;
            (number as i64).into()
        }
        ("integer" | "number" | "array" | "object", Value::String(text)) => parsed(text)?,
        ("boolean", Value::String(text)) => parsed(&text.to_ascii_lowercase())?,
        ("string", Value::Number(_) | Value::Bool(_)) => value.to_string().into(),
        _ => return None,
    };
    is_of(&found, word).then_some(found)
}

/// Returns the types that a schema names.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Checks that each argument is a known one and has the type that its schema names; unknown arguments pass only if the
/// schema is open and declares no properties. The tool parses its arguments itself; this check is for the person, who
/// should hear of a mistake before anything runs.
pub(super) fn check_types(spec: &ToolSpec, input: &Value) -> Result<(), String> {
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    let takes_others = spec.parameters.get("additionalProperties") != Some(&Value::Bool(false));
    for (name, value) in input.as_object().into_iter().flatten() {
        let schema = properties.and_then(|properties| properties.get(name));
        let Some(schema) = schema else {
            if takes_others && properties.is_none_or(serde_json::Map::is_empty) {
                continue;
            }
            return Err(format!("`{}` has no argument `{name}`", spec.name));
        };
        let allowed = types(schema);
        if !allowed.is_empty() && !allowed.iter().any(|word| is_of(value, word)) {
            return Err(format!("the argument `{name}` must be of type {}", allowed.join(" or ")));
        }
    }
    Ok(())
}

fn is_of(value: &Value, word: &str) -> bool {
    match word {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Returns one line that describes the effect of a call.
pub(super) fn summary(spec: &ToolSpec, call: &ToolCall) -> String {
    let of_role = |wanted: ArgumentRole| {
        let (name, _) = spec.roles.iter().find(|(_, role)| **role == wanted)?;
        call.input.get(name)?.as_str()
    };
    let line = if let Some(command) = of_role(ArgumentRole::Command) {
        // It outlives the turn, which whoever approves it should know.
        let is_lasting = call.input.get("background") == Some(&Value::Bool(true));
        format!("run{}: {command}", if is_lasting { " in the background" } else { "" })
    } else if let Some(path) = of_role(ArgumentRole::WritePath) {
        format!("{}: write {path}", spec.name)
    } else if let Some(url) = of_role(ArgumentRole::Url) {
        format!("{}: fetch {url}", spec.name)
    } else if let Some(path) = of_role(ArgumentRole::ReadPath) {
        format!("{}: read {path}", spec.name)
    } else {
        format!("{} {}", spec.name, call.input)
    };
    // Line ends, and characters that are invisible or reverse text, could hide what would run from the person who
    // decides.
    let visible = visible::exact(&line).replace('\n', "↵");
    match visible.char_indices().nth(MAX_SUMMARY) {
        None => visible,
        Some(_) => visible.chars().take(MAX_SUMMARY - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec() -> ToolSpec {
        let parameters = json!({"type": "object", "required": ["command"]});
        ToolSpec::new("shell", "", parameters).with_role("command", ArgumentRole::Command)
    }

    #[test]
    fn arguments_are_an_object_with_all_required_fields() {
        let accepts = |input: Value, expected: bool| {
            assert_eq!(check(&spec(), &input).is_ok(), expected, "{input}");
        };
        accepts(json!({"command": "ls"}), true);
        accepts(json!({"command": null}), false);
        accepts(json!({}), false);
        accepts(json!("{\"command\": "), false);
        accepts(json!(["ls"]), false);
    }

    #[test]
    fn arguments_get_the_types_of_the_schema_where_the_meaning_is_clear() {
        let parameters = json!({"type": "object", "properties": {
            "lines": {"type": "integer"}, "ratio": {"type": ["number", "null"]}, "all": {"type": "boolean"},
            "text": {"type": "string"}, "list": {"type": "array"}, "any": {}
        }});
        let spec = ToolSpec::new("t", "", parameters);
        let check = |input: Value, expected: Value| {
            let mut coerced = input.clone();
            coerce(&spec, &mut coerced);
            assert_eq!(coerced, expected, "{input}");
        };
        check(
            json!({"lines": "5", "ratio": " 0.5", "all": "True", "text": 17, "list": "[1]"}),
            json!({"lines": 5, "ratio": 0.5, "all": true, "text": "17", "list": [1]}),
        );
        check(json!({"lines": 5.0}), json!({"lines": 5}));
        for same in [
            json!({"lines": "five", "ratio": null, "all": "yes", "text": null, "list": "a, b"}),
            json!({"lines": "5.5", "text": "5", "any": "5", "unknown": "5"}),
            json!("5"),
        ] {
            check(same.clone(), same);
        }
    }

    #[test]
    fn changed_arguments_have_the_types_of_the_schema() {
        let parameters = json!({"type": "object", "properties": {
            "command": {"type": "string"}, "timeout_seconds": {"type": ["integer", "null"]}, "any": {}
        }});
        let spec = ToolSpec::new("shell", "", parameters);
        let accepts = |input: Value, expected: bool| {
            assert_eq!(check_types(&spec, &input).is_ok(), expected, "{input}");
        };
        accepts(json!({"command": "ls", "timeout_seconds": 3, "any": [1]}), true);
        accepts(json!({"timeout_seconds": null}), true);
        accepts(json!({"command": 3}), false);
        accepts(json!({"timeout_seconds": "3"}), false);
        accepts(json!({"comand": "ls"}), false);
        assert!(check_types(&ToolSpec::new("t", "", json!({})), &json!({"x": 1})).is_ok());
    }

    #[test]
    fn a_summary_is_one_visible_line() {
        let line = |command: &str| {
            let call = ToolCall {
                id: "1".into(),
                name: "shell".into(),
                input: json!({"command": command}),
                opaque: None,
            };
            summary(&spec(), &call)
        };
        assert_eq!(line("ls -l"), "run: ls -l");
        assert_eq!(line("ls\nrm\t-rf \rx"), "run: ls↵rm    -rf ‹U+000D›x");
        assert_eq!(line("ls \u{202e}fr- mr\u{200b}"), "run: ls ‹U+202E›fr- mr‹U+200B›");
        assert_eq!(line(&"x".repeat(500)).chars().count(), MAX_SUMMARY);
    }
}
