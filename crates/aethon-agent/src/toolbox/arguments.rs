//! What a model sent as arguments: checked before a tool sees them, and put into one line for a person.

use aethon_core::message::ToolCall;
use aethon_core::tool::{ArgumentRole, ToolSpec};
use serde_json::Value;

/// The longest line for a person; the whole arguments are shown beside it.
const LONGEST_SUMMARY: usize = 200;

/// Whether the input is an object with everything that the schema requires; else a sentence for the model.
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

/// One line that says what a call would do.
pub(super) fn summary(spec: &ToolSpec, call: &ToolCall) -> String {
    let of_role = |wanted: ArgumentRole| {
        let (name, _) = spec.roles.iter().find(|(_, role)| **role == wanted)?;
        call.input.get(name)?.as_str()
    };
    let line = if let Some(command) = of_role(ArgumentRole::Command) {
        format!("run: {command}")
    } else if let Some(path) = of_role(ArgumentRole::WritePath) {
        format!("{}: write {path}", spec.name)
    } else if let Some(url) = of_role(ArgumentRole::Url) {
        format!("{}: fetch {url}", spec.name)
    } else if let Some(path) = of_role(ArgumentRole::ReadPath) {
        format!("{}: read {path}", spec.name)
    } else {
        format!("{} {}", spec.name, call.input)
    };
    // Line ends and other controls could hide the rest of the line from the person who decides.
    let visible: String = line.chars().map(visible).collect();
    match visible.char_indices().nth(LONGEST_SUMMARY) {
        None => visible,
        Some(_) => visible.chars().take(LONGEST_SUMMARY - 1).chain(['…']).collect(),
    }
}

fn visible(c: char) -> char {
    match c {
        '\n' => '↵',
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
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
    fn arguments_are_an_object_with_what_is_required() {
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
        assert_eq!(line("ls\nrm\t-rf \rx"), "run: ls↵rm -rf \u{fffd}x");
        assert_eq!(line(&"x".repeat(500)).chars().count(), LONGEST_SUMMARY);
    }
}
