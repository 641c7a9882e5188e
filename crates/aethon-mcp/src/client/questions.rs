//! Questions of servers to the person (`elicitation/create`), asked as approvals are: the person accepts, with the fields of the
//! form as arguments that can be changed, or declines. An address is shown and never opened.

use aethon_core::tool::{Question, QuestionAnswer, ToolContext};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};
use url::Url;

use super::words::brief;

/// Maximum number of fields of a form.
const MAX_FIELDS: usize = 30;
/// Maximum size of a form, as text.
const MAX_FORM: usize = 16 * 1024;

/// Asks the person of a turn.
pub(super) async fn ask(server: &str, context: &ToolContext, request: &ElicitRequestParams) -> ElicitResult {
    let (question, form) = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            let Some(form) = Form::of(schema) else { return ElicitResult::new(ElicitationAction::Decline) };
            (form.question(server, message), Some(form))
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => match address(server, message, url)
        {
            Some(question) => (question, None),
            None => return ElicitResult::new(ElicitationAction::Decline),
        },
        _ => return ElicitResult::new(ElicitationAction::Decline),
    };
    match context.ask(question).await {
        QuestionAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
        QuestionAnswer::Unanswered => ElicitResult::new(ElicitationAction::Cancel),
        QuestionAnswer::Accepted(content) => match form {
            None => ElicitResult::new(ElicitationAction::Accept),
            // A form that was accepted unchanged may lack required fields.
            Some(form) if form.check(&content).is_ok() => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            Some(_) => ElicitResult::new(ElicitationAction::Cancel),
        },
    }
}

/// A question that shows an address.
fn address(server: &str, message: &str, url: &str) -> Option<Question> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?;
    Some(Question {
        summary: format!(
            "The MCP server `{server}` asks you to open an address at {host}: {}",
            brief(message)
        ),
        preview: None,
        input: json!({"url": url.as_str()}),
        reason:
            "approve after you have opened it yourself; the server learns that you agree, and nothing else"
                .into(),
        check: std::sync::Arc::new(|_| Ok(())),
    })
}

/// A form, whose fields are single values.
#[derive(Clone)]
struct Form {
    fields: Map<String, Value>,
    required: Vec<String>,
}

impl Form {
    fn of(schema: Value) -> Option<Self> {
        let fields = schema["properties"].as_object()?.clone();
        if fields.len() > MAX_FIELDS || schema.to_string().len() > MAX_FORM {
            return None;
        }
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        Some(Self { fields, required })
    }

    fn question(&self, server: &str, message: &str) -> Question {
        let lines: Vec<String> = self.fields.iter().map(|(name, field)| self.line(name, field)).collect();
        let form = self.clone();
        Question {
            summary: format!("The MCP server `{server}` asks you: {}", brief(message)),
            preview: (!lines.is_empty()).then(|| lines.join("\n")),
            input: Value::Object(
                self.fields.iter().map(|(name, field)| (name.clone(), value(field))).collect(),
            ),
            reason: "what you enter goes to that server; never enter a password there".into(),
            check: std::sync::Arc::new(move |content| form.check(content)),
        }
    }

    fn line(&self, name: &str, field: &Value) -> String {
        let kind = field["type"].as_str().unwrap_or("text");
        let need = if self.required.iter().any(|known| known == name) { ", needed" } else { "" };
        let text = ["title", "description"].map(|word| brief(field[word].as_str().unwrap_or_default()));
        let choices: Vec<String> = choices(field).iter().map(|choice| brief(&choice.to_string())).collect();
        let choices =
            if choices.is_empty() { String::new() } else { format!(" One of {}.", choices.join(", ")) };
        let text = text.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(". ");
        format!("  {} ({}{need}): {text}{choices}", brief(name), brief(kind))
    }

    /// Checks a person's input.
    fn check(&self, content: &Value) -> Result<(), String> {
        let Some(entered) = content.as_object() else {
            return Err("the form is an object with its fields".into());
        };
        if let Some(name) = entered.keys().find(|name| !self.fields.contains_key(*name)) {
            return Err(format!("the form has no field `{}`", brief(name)));
        }
        for (name, field) in &self.fields {
            let is_needed = self.required.contains(name);
            match entered.get(name) {
                None | Some(Value::Null) if is_needed => return Err(format!("`{}` is needed", brief(name))),
                None | Some(Value::Null) => {}
                Some(value) => fits(field, value).map_err(|why| format!("`{}` {why}", brief(name)))?,
            }
        }
        Ok(())
    }
}

/// Returns the values that a field allows, if it names them.
fn choices(field: &Value) -> Vec<Value> {
    let place = if field["type"] == "array" { &field["items"] } else { field };
    let titled = place["oneOf"].as_array().or_else(|| place["anyOf"].as_array());
    let titled = titled.map(|all| all.iter().map(|choice| choice["const"].clone()).collect());
    place["enum"].as_array().cloned().or(titled).unwrap_or_default()
}

/// Returns what a field holds before the person changes it.
fn value(field: &Value) -> Value {
    if let Some(default) = field.get("default") {
        return default.clone();
    }
    match field["type"].as_str() {
        Some("boolean") => false.into(),
        Some("number" | "integer") => field.get("minimum").cloned().unwrap_or_else(|| 0.into()),
        Some("array") => json!([]),
        _ => choices(field).first().cloned().unwrap_or_else(|| "".into()),
    }
}

fn fits(field: &Value, value: &Value) -> Result<(), String> {
    let choices = choices(field);
    let number = |name: &str| field[name].as_f64();
    match field["type"].as_str() {
        Some("boolean") if !value.is_boolean() => return Err("is true or false".into()),
        Some("integer") if !(value.is_i64() || value.is_u64()) => return Err("is a whole number".into()),
        Some("number" | "integer") => {
            let Some(given) = value.as_f64() else { return Err("is a number".into()) };
            if number("minimum").is_some_and(|least| given < least)
                || number("maximum").is_some_and(|most| given > most)
            {
                return Err("is out of its range".into());
            }
        }
        Some("array") => {
            let Some(given) = value.as_array() else { return Err("is a list".into()) };
            if !choices.is_empty() && !given.iter().all(|one| choices.contains(one)) {
                return Err("has a value that it does not offer".into());
            }
            return Ok(());
        }
        Some("string") => {
            let Some(given) = value.as_str() else { return Err("is a text".into()) };
            let length = given.chars().count();
            let bound = |name: &str| field[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
            if bound("minLength").is_some_and(|least| length < least) {
                return Err("is too short".into());
            }
            if bound("maxLength").is_some_and(|most| length > most) {
                return Err("is too long".into());
            }
        }
        _ => {}
    }
    if choices.is_empty() || choices.contains(value) { Ok(()) } else { Err("is none of its choices".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Form {
        Form::of(json!({"type": "object", "required": ["name", "count"], "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 1},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "color": {"type": "string", "enum": ["red", "blue"]},
            "agree": {"type": "boolean", "default": true},
            "some": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        }}))
        .unwrap()
    }

    #[test]
    fn forms_begin_with_their_defaults_and_are_checked() {
        let form = form();
        let question = form.question("s", "who\n are you\u{202e}?");
        assert_eq!(question.summary, "The MCP server `s` asks you: who are you?");
        assert_eq!(
            question.input,
            json!({"name": "", "count": 1, "color": "red", "agree": true, "some": []})
        );
        let preview = question.preview.unwrap();
        assert!(preview.contains("name (string, needed): Your name"), "{preview}");
        assert!(preview.contains("One of \"red\", \"blue\"."), "{preview}");
        let check = |content: Value, fault: Option<&str>| {
            let checked = form.check(&content).err();
            assert_eq!(checked.is_some(), fault.is_some(), "{content}: {checked:?}");
            assert!(checked.unwrap_or_default().contains(fault.unwrap_or_default()), "{content}");
        };
        check(json!({"name": "Ada", "count": 3}), None);
        check(json!({"name": "Ada", "count": 3, "color": "blue", "agree": false, "some": ["b"]}), None);
        check(json!({"name": "Ada"}), Some("`count` is needed"));
        check(json!({"name": "", "count": 3}), Some("too short"));
        check(json!({"name": 7, "count": 3}), Some("is a text"));
        check(json!({"name": "Ada", "count": 10}), Some("range"));
        check(json!({"name": "Ada", "count": 1.5}), Some("whole number"));
        check(json!({"name": "Ada", "count": 1, "color": "green"}), Some("none of its choices"));
        check(json!({"name": "Ada", "count": 1, "some": ["c"]}), Some("does not offer"));
        check(json!({"name": "Ada", "count": 1, "other": 1}), Some("no field `other`"));
        check(json!([]), Some("an object"));
    }

    #[test]
    fn addresses_other_than_web_ones_are_not_shown() {
        let shown = address("s", "sign in", "https://a.example/x?y").unwrap();
        assert_eq!(shown.input, json!({"url": "https://a.example/x?y"}));
        assert!(shown.summary.contains("a.example"));
        for url in ["javascript:alert(1)", "file:///etc/passwd", "x", ""] {
            assert!(address("s", "m", url).is_none(), "{url}");
        }
    }

    #[test]
    fn too_large_forms_are_declined() {
        let fields: Map<String, Value> =
            (0..40).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        assert!(Form::of(json!({"properties": fields})).is_none());
        let long = json!({"properties": {"a": {"type": "string", "description": "x".repeat(20_000)}}});
        assert!(Form::of(long).is_none());
    }
}
