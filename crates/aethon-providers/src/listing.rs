//! A service's list of its models, as each dialect writes it.

use aethon_core::model_choice::ListedModel;
use serde_json::Value;

/// The most models that are taken from a list; OpenRouter has some hundreds.
const MAX_LISTED: usize = 2_000;

/// The longest id or name that is taken, in bytes.
const MAX_NAME: usize = 200;

/// Reads a list: `data` with an `id` each (OpenAI's form and Anthropic's), or `models` with a `name` each (Gemini's,
/// whose names begin with `models/`, and Ollama's). An entry that makes no sense is left out.
pub(crate) fn models(list: &Value) -> Vec<ListedModel> {
    let entries = |key: &str| list.get(key).and_then(Value::as_array).map(Vec::as_slice);
    let entries = entries("data").or_else(|| entries("models")).unwrap_or_default();
    entries.iter().filter_map(model).take(MAX_LISTED).collect()
}

fn model(entry: &Value) -> Option<ListedModel> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::trim).filter(|text| is_name(text));
    let id = text("id").or_else(|| text("name"))?;
    let id = id.strip_prefix("models/").unwrap_or(id).to_owned();
    if !can_answer(entry) {
        return None;
    }
    let name = ["display_name", "displayName", "name"].into_iter().find_map(text);
    Some(ListedModel { name: name.filter(|name| !name.ends_with(&*id)).map(str::to_owned), id })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control)
}

/// Gemini lists the methods of each model, and some only embed.
fn can_answer(entry: &Value) -> bool {
    let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_dialect_lists_its_models_in_its_own_form() {
        let check = |list: Value, expected: &[(&str, Option<&str>)]| {
            let found = models(&list);
            let found: Vec<_> = found.iter().map(|model| (&*model.id, model.name.as_deref())).collect();
            assert_eq!(found, expected, "{list}");
        };
        check(json!({"data": [{"id": "gpt-5.2", "object": "model"}, {"id": ""}, 7]}), &[("gpt-5.2", None)]);
        check(
            json!({"data": [{"id": "claude-opus-4-6", "display_name": "Claude Opus 4.6"}]}),
            &[("claude-opus-4-6", Some("Claude Opus 4.6"))],
        );
        check(
            json!({"models": [
                {"name": "models/gemini-3-pro", "displayName": "Gemini 3 Pro", "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
            ]}),
            &[("gemini-3-pro", Some("Gemini 3 Pro"))],
        );
        check(json!({"models": [{"name": "llama3.2:3b", "model": "llama3.2:3b"}]}), &[("llama3.2:3b", None)]);
        check(json!({"data": null}), &[]);
        check(json!("no"), &[]);
    }
}
